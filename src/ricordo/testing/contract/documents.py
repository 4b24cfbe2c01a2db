"""Documents: kept once, read back whole, gone with one call; those of one owner are invisible to others."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, RicordoError, ValidationError
from ricordo.records.service import Document, StoredChunk
from ricordo.records.turns import Owner, library_of
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, at_once, backup_of, law
from ricordo.testing.fakes import START, a_document, a_key, a_turn, an_owner, some_chunks

WRITERS = 8
hour = timedelta(hours=1)


class DocumentContract(Contract):
    """put_document, documents, document, chunks, chunk, delete_document, set_chunk_vectors."""

    @law
    @given(coming=st.lists(strategies.documents(), max_size=3, unique_by=lambda each: each[0].id))
    def test_documents_come_back_whole_and_newest_first(
        self, store: Store, coming: list[tuple[Document, list[StoredChunk]]]
    ) -> None:
        """Whatever a document and its chunks hold is read back, page by page, ties by id; chunks by position."""
        owner = an_owner()
        for document, chunks in coming:
            assert store.documents.put(owner, document, chunks)
            assert not store.documents.put(owner, document, chunks)
        wanted = sorted((each for each, _ in coming), key=lambda each: (each.created_at, each.id), reverse=True)
        assert list(store.documents.page(owner)) == wanted
        read: list[Document] = []
        page = store.documents.page(owner, limit=1)
        while page:
            read += page
            page = store.documents.page(owner, limit=1, before=page[-1])
        assert read == wanted
        every = [chunk for _, chunks in sorted(coming, key=lambda each: each[0].id) for chunk in chunks]
        assert list(store.documents.chunks(owner)) == every
        assert list(store.documents.chunks(owner, [])) == []
        for document, chunks in coming:
            assert store.documents.get(owner, document.id) == document
            assert list(store.documents.chunks(owner, [document.id, "another"])) == chunks
            assert [store.documents.chunk(owner, chunk.id) for chunk in chunks] == chunks
        assert store.stats(owner.tenant_id).documents == len(coming)

    def test_what_is_not_there_is_nothing(self, store: Store) -> None:
        """Reading and deleting what was never added gives nothing and makes nothing."""
        owner = an_owner()
        assert list(store.documents.page(owner)) == []
        assert store.documents.get(owner, "primer") is None
        assert list(store.documents.chunks(owner)) == []
        assert store.documents.chunk(owner, "primer#0") is None
        assert not store.documents.delete(owner, "primer")
        assert store.documents.set_vectors(owner, "small", {"primer#0": b"v"}) == 0
        assert store.documents.set_vectors(owner, "small", {}) == 0
        assert list(store.owners(owner.tenant_id)) == []

    def test_the_same_content_is_kept_once_and_other_content_refused(self, store: Store) -> None:
        """The digest decides; what stands there stays as it is, and a refusal leaves nothing."""
        owner = an_owner()
        document, chunks = a_document(chunk_count=2), some_chunks()
        assert store.documents.put(owner, document, chunks)
        assert not store.documents.put(owner, replace(document, title="Other"), chunks)
        with pytest.raises(ConflictError, match="primer"):
            store.documents.put(owner, replace(document, digest="other"), chunks)
        other = [replace(chunks[1], document_id="other", position=0)]
        with pytest.raises(ConflictError, match="primer#1"):
            store.documents.put(owner, a_document("other", 1), other)
        assert list(store.documents.page(owner)) == [document]
        assert list(store.documents.chunks(owner)) == chunks

    def test_chunks_that_are_not_the_documents_are_refused(self, store: Store) -> None:
        """Too many, too few, another document's, or twice the same: nothing is kept."""
        owner, chunks = an_owner(), some_chunks()
        for refused in (
            chunks[:1],
            [*chunks, *some_chunks("other", 1)],
            [chunks[0], replace(chunks[1], document_id="other")],
            [chunks[0], replace(chunks[0], position=1)],
            [chunks[0], replace(chunks[1], position=0)],
        ):
            with pytest.raises(ValidationError):
                store.documents.put(owner, a_document(chunk_count=2), refused)
        assert list(store.documents.page(owner)) == []
        assert list(store.documents.chunks(owner)) == []

    def test_of_many_who_add_the_same_document_one_does(self, store: Store) -> None:
        """All succeed, one of them is told that it was new; with other content the others are refused."""
        owner = an_owner()

        def add(digest: str) -> object:
            try:
                return store.documents.put(owner, a_document(chunk_count=2, digest=digest), some_chunks())
            except RicordoError as error:
                return type(error)

        assert sorted(map(str, at_once([lambda: add("same")] * WRITERS))) == ["False"] * (WRITERS - 1) + ["True"]
        store.documents.delete(owner, "primer")
        outcomes = at_once([lambda n=n: add(f"other {n}") for n in range(WRITERS)])  # type: ignore[misc]
        assert sorted(map(str, outcomes)) == [str(ConflictError)] * (WRITERS - 1) + ["True"]

    def test_a_deleted_document_is_gone_with_its_chunks(self, store: Store) -> None:
        """Others stay, and the id is free again."""
        owner = an_owner()
        store.documents.put(owner, a_document(chunk_count=2), some_chunks())
        store.documents.put(owner, a_document("other", 1), some_chunks("other", 1))
        assert store.documents.delete(owner, "primer")
        assert not store.documents.delete(owner, "primer")
        assert [document.id for document in store.documents.page(owner)] == ["other"]
        assert [chunk.id for chunk in store.documents.chunks(owner)] == ["other#0"]
        assert store.documents.put(owner, a_document(digest="new"), [])

    def test_vectors_are_set_later(self, store: Store) -> None:
        """Those of chunks that are there, by one embedder; nothing else of the chunk changes."""
        owner = an_owner()
        store.documents.put(owner, a_document(chunk_count=2), some_chunks())
        assert store.documents.set_vectors(owner, "small", {"primer#1": b"\x00v", "gone": b"v"}) == 1
        first, second = some_chunks()
        assert list(store.documents.chunks(owner)) == [first, replace(second, vector=b"\x00v", embedder="small")]
        assert store.documents.set_vectors(owner, "large", {"primer#0": b"", "primer#1": b"w"}) == 2
        assert [(each.vector, each.embedder) for each in store.documents.chunks(owner)] == [
            (b"", "large"),
            (b"w", "large"),
        ]

    def test_documents_are_of_one_owner(self, store: Store) -> None:
        """The same ids with another user, in the library, or with another tenant are other documents."""
        anna = an_owner()
        owners = [anna, Owner(anna.tenant_id, "bruno"), library_of(anna.tenant_id), an_owner()]
        for n, owner in enumerate(owners):
            assert store.documents.put(owner, a_document(chunk_count=1, title=f"{n}"), some_chunks(count=1))
        assert store.documents.set_vectors(owners[1], "small", {"primer#0": b"v"}) == 1
        assert store.documents.delete(owners[3], "primer")
        for n, owner in enumerate(owners[:3]):
            assert [document.title for document in store.documents.page(owner)] == [f"{n}"]
            assert [chunk.vector for chunk in store.documents.chunks(owner)] == [b"v" if n == 1 else None]
        assert store.stats(anna.tenant_id).documents == 3
        assert sorted(owner.user_id for owner in store.owners(anna.tenant_id)) == ["anna", "bruno"]

    def test_a_document_outlives_sessions_and_not_its_owner(self, store: Store) -> None:
        """Deleting or expiring the last session leaves documents; erasing takes and counts them."""
        anna, bruno = an_owner(), an_owner("bruno")
        for owner in (anna, bruno):
            store.documents.put(owner, a_document(chunk_count=2), some_chunks())
            store.turns.append(a_turn(owner))
            store.turns.append(a_turn(owner, session_id="other"))
        store.sessions.delete(anna, "lesson")
        while store.sessions.expire(anna, turns_before=None, idle_before=START + hour, batch=9).more:
            pass
        assert len(store.documents.chunks(anna)) == 2
        assert list(store.owners(anna.tenant_id)) == [anna]
        gone = store.erase(anna)
        assert {what: number for what, number in gone.items() if number} == {"documents": 1}
        assert list(store.documents.page(anna)) == []
        assert list(store.documents.chunks(anna)) == []
        assert len(store.documents.chunks(bruno)) == 2

    def test_an_owner_without_documents_is_not_listed(self, store: Store) -> None:
        """Without session, fact, document or item an owner is not listed."""
        owner = an_owner()
        store.documents.put(owner, a_document(), [])
        assert list(store.owners(owner.tenant_id)) == [owner]
        store.documents.delete(owner, "primer")
        assert list(store.owners(owner.tenant_id)) == []

    def test_a_backup_holds_documents_keys_and_jobs(self, store: Store, tmp_path: Path) -> None:
        """Of users and of the library, with vectors; what waits to be done waits in the copy as well."""
        owner = store.turns.append(a_turn(an_owner())).owner
        library, key = library_of(owner.tenant_id), a_key(owner.tenant_id)
        for each in (owner, library):
            store.documents.put(each, a_document(chunk_count=2), some_chunks(vector=b"v", embedder="small"))
        store.keys.put(key)
        assert store.jobs.enqueue(owner, "facts", "lesson", START)
        with backup_of(store, tmp_path) as copy:
            for each in (owner, library):
                assert list(copy.documents.page(each)) == list(store.documents.page(each))
                assert list(copy.documents.chunks(each)) == list(store.documents.chunks(each))
            assert copy.keys.by_digest(key.digest) == key
            assert list(copy.jobs.page(owner)) == list(store.jobs.page(owner))
            assert [job.owner for job in copy.jobs.take("worker", START, hour)] == [owner]
