"""Documents over HTTP: added as JSON or as a file, listed in pages, read by passage, removed."""

from server_samples import SPOKEN, a_problem, serving
from starlette.testclient import TestClient

ANNA = {"X-Ricordo-User": "anna"}
TEXT = f"# Food\n\nThe {SPOKEN} eats leaves.\n\n# Sleep\n\nIt sleeps in the shade.\n\n# Home\n\nIt lives on an island."


def test_a_text_is_added_read_and_removed(client: TestClient) -> None:
    """The same content again is known (200); passages come in order, with what is around them; deleted, all is gone."""
    made = client.post("/documents", json={"title": "Animals", "text": TEXT}, headers=ANNA)
    assert made.status_code == 201
    again = client.post("/documents", json={"title": "Animals", "text": TEXT}, headers=ANNA)
    assert (again.status_code, again.json()) == (200, made.json())
    path = f"/documents/{made.json()['id']}"
    assert client.get(path, headers=ANNA).json() == made.json()
    chunks = client.get(f"{path}/chunks", headers=ANNA).json()["items"]
    assert [chunk["position"] for chunk in chunks] == list(range(len(chunks)))
    passage = client.get(f"/chunks/{chunks[1]['id'].replace('#', '%23')}", headers=ANNA).json()
    assert (passage["before"], passage["text"]) == (chunks[0]["text"], chunks[1]["text"])
    assert client.delete(path, headers=ANNA).status_code == 204
    a_problem(client.get(path, headers=ANNA), 404)
    a_problem(client.delete(path, headers=ANNA), 404)


def test_files_are_told_by_their_names(client: TestClient) -> None:
    """Text and Markdown files become documents; what is no text or no PDF is refused by name."""
    response = client.post("/documents", files={"file": ("animals.md", TEXT.encode())}, headers=ANNA)
    assert (response.status_code, response.json()["kind"]) == (201, "markdown")
    named = client.post("/documents", files={"file": ("a.txt", b"Leaves.")}, data={"title": "Short"}, headers=ANNA)
    assert (named.json()["title"], named.json()["kind"]) == ("Short", "text")
    a_problem(client.post("/documents", files={"file": ("a.txt", b"\xff\xfe\xff")}, headers=ANNA), 422)
    a_problem(client.post("/documents", files={"file": ("a.pdf", b"no PDF")}, headers=ANNA), 422)
    a_problem(client.post("/documents", files={"other": ("a.txt", b"x")}, headers=ANNA), 422)


def test_what_is_no_document_is_refused(client: TestClient) -> None:
    """Blank text, missing fields, unknown fields, no JSON: each is a problem that names the field."""
    for body, field in (
        ({"title": "x", "text": " "}, "content"),
        ({"title": "x"}, "text"),
        ({"title": "x", "text": "y", "colour": 1}, "colour"),
        ({"title": "\0", "text": "y"}, "title"),
        ({"title": "x", "text": "y", "id": "\0"}, "id"),
        ({"title": "x", "text": "a\0b"}, "text"),
    ):
        assert field in a_problem(client.post("/documents", json=body, headers=ANNA), 422)["field"], body
    a_problem(client.post("/documents", content=b"{broken", headers=ANNA), 422)
    for path in ("/documents/unknown", "/documents/%00", "/documents/unknown/chunks", "/chunks/unknown", "/chunks/%00"):
        a_problem(client.get(path, headers=ANNA), 404)


def test_an_id_that_is_taken_is_a_conflict(client: TestClient) -> None:
    """Other content under the same id is refused."""
    first = {"title": "a", "text": "One.", "id": "d1"}
    assert client.post("/documents", json=first, headers=ANNA).status_code == 201
    a_problem(client.post("/documents", json=first | {"text": "Two."}, headers=ANNA), 409)


def test_the_library_is_read_by_all_and_pages_hold_everything_once(client: TestClient) -> None:
    """Shared documents come to every user, own ones to their owner, each once whatever the page size."""
    for number in range(5):
        body = {"title": f"n{number}", "text": f"Text {number}."}
        shared = "?shared=1" if number % 2 else ""
        assert client.post(f"/documents{shared}", json=body, headers=ANNA).status_code == 201
    whole = client.get("/documents", headers=ANNA).json()
    assert (len(whole["items"]), whole["next_cursor"]) == (5, None)
    assert sum(document["shared"] for document in whole["items"]) == 2
    for limit in (1, 2, 3, 5):
        found, cursor = [], ""
        while True:
            page = client.get(f"/documents?limit={limit}{cursor}", headers=ANNA).json()
            found += page["items"]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert found == whole["items"]
    assert len(client.get("/documents?user_id=bruno").json()["items"]) == 2
    a_problem(client.get("/documents?cursor=x", headers=ANNA), 422)


def test_a_document_is_refused_beyond_the_bound() -> None:
    """Uploads have a bound of their own, larger than that of other bodies."""
    with serving(body_bytes=100, upload_bytes=2_000) as client:
        assert client.post("/documents", json={"title": "x", "text": "word " * 300}, headers=ANNA).status_code == 201
        a_problem(client.post("/documents", json={"title": "x", "text": "word " * 500}, headers=ANNA), 413)
        a_problem(client.post("/chat", json={"query": "word " * 100}), 413)
