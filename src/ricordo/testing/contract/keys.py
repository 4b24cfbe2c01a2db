"""API keys: found by digest alone, listed by tenant, revoked for good."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError
from ricordo.ports import WholeStore
from ricordo.records import Owner
from ricordo.testing import strategies
from ricordo.testing.clock import START
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_key, a_turn, an_owner

hour = timedelta(hours=1)


class KeyContract(Contract):
    """put_key, key_by_digest, keys, revoke_key, key_used."""

    @law
    @given(data=st.data())
    def test_keys_come_back_complete(self, store: WholeStore, data: st.DataObject) -> None:
        """By digest, and by tenant, oldest first; ties by id."""
        tenant_id = an_owner().tenant_id
        keys = data.draw(st.lists(strategies.api_keys(tenant_id), max_size=4, unique_by=lambda key: key.id))
        for key in keys:
            store.put_key(key)
        assert list(store.keys(tenant_id)) == sorted(keys, key=lambda key: (key.created_at, key.id))
        assert [store.key_by_digest(key.digest) for key in keys] == keys

    def test_only_a_known_digest_opens(self, store: WholeStore) -> None:
        """Anything else finds nothing: an unknown one, a part of one, the empty text, the id, a pattern."""
        key = a_key(an_owner().tenant_id)
        store.put_key(key)
        for digest in ("", "%", key.id, key.digest[:-1], key.digest.upper(), f"{key.digest} ", "0" * 64, "' OR ''='"):
            assert store.key_by_digest(digest) is None
        assert store.key_by_digest(key.digest) == key

    def test_a_taken_id_or_digest_is_refused(self, store: WholeStore) -> None:
        """An id is taken within its tenant, whoever of it has it; a digest everywhere. The first key stays."""
        tenant, other = an_owner().tenant_id, an_owner().tenant_id
        key = a_key(tenant)
        store.put_key(key)
        for refused in (
            key,
            a_key(tenant, "new", id=key.id, user_id="anna"),
            a_key(tenant, "new", digest=key.digest),
            a_key(other, "new", digest=key.digest),
        ):
            with pytest.raises(ConflictError):
                store.put_key(refused)
        store.put_key(a_key(other))
        assert list(store.keys(tenant)) == [key]
        assert store.key_by_digest(key.digest) == key
        assert [each.tenant_id for each in store.keys(other)] == [other]

    def test_a_revoked_key_stays_revoked_and_known(self, store: WholeStore) -> None:
        """It is still found, so that whoever shows it can be told; the first revocation counts."""
        tenant = an_owner().tenant_id
        for key in (a_key(tenant, "one"), a_key(tenant, "two", user_id="anna")):
            store.put_key(key)
            assert key.is_valid
            revoked = replace(key, revoked_at=START + hour)
            assert store.revoke_key(tenant, key.id, START + hour) == revoked
            assert store.revoke_key(tenant, key.id, START + 2 * hour) == revoked
            assert store.key_by_digest(key.digest) == revoked
            assert not revoked.is_valid
        assert store.revoke_key(tenant, "three", START) is None
        assert store.revoke_key(an_owner().tenant_id, "one", START) is None

    def test_the_last_use_is_noted(self, store: WholeStore) -> None:
        """It moves forward only; a key that is gone does not come back by being used."""
        tenant = an_owner().tenant_id
        key = a_key(tenant, user_id="anna")
        store.key_used(key, START)
        assert list(store.keys(tenant)) == []
        store.put_key(key)
        for used, expected in (
            (START + hour, START + hour),
            (START, START + hour),
            (START + 2 * hour, START + 2 * hour),
        ):
            store.key_used(key, used)
            assert store.key_by_digest(key.digest) == replace(key, last_used_at=expected)

    def test_a_users_keys_go_when_the_user_is_erased(self, store: WholeStore) -> None:
        """Those of the tenant and of others stay; sessions that go leave keys alone."""
        anna = store.append(a_turn(an_owner())).owner
        keys = [
            a_key(anna.tenant_id, "tenant"),
            a_key(anna.tenant_id, "first", user_id="anna"),
            a_key(anna.tenant_id, "second", user_id="anna"),
            a_key(anna.tenant_id, "bruno", user_id="bruno"),
        ]
        for key in keys:
            store.put_key(key)
        store.delete_session(anna, "lesson")
        assert len(store.keys(anna.tenant_id)) == 4
        assert Counter(store.erase(anna)) == Counter({"keys": 2})
        assert {key.id for key in store.keys(anna.tenant_id)} == {"tenant", "bruno"}
        assert store.key_by_digest(keys[1].digest) is None
        assert not any(store.erase(Owner(anna.tenant_id, "nobody")).values())
