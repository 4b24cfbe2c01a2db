"""Sessions over HTTP: made, listed in pages, changed, read with their turns, exported, ended, let go."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_samples import SPOKEN, a_problem, ask, for_chat_alone, service_of, serving
from starlette.testclient import TestClient

from ricordo.records.turns import Owner
from ricordo.server.presenters import answer_out
from ricordo.testing.fakes import ScriptedLLM, a_turn

ANNA = {"X-Ricordo-User": "anna"}
BRUNO = {"X-Ricordo-User": "bruno"}


def _for_bruno(exported: str) -> str:
    """An export whose sessions belong to no project and have ids of their own."""
    return exported.replace('"project:blue"', "").replace('"id": "', '"id": "b')


def make(client: TestClient, **fields: Any) -> dict[str, Any]:
    """A new session of Anna's."""
    response = client.post("/sessions", json=fields, headers=ANNA)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def test_a_session_is_made_changed_and_read(client: TestClient) -> None:
    """Title, tags, metadata and archiving come back as they were set, and nothing else changes."""
    made = make(client, title="Animals", tags=["biology"], metadata={"level": 2})
    path = f"/sessions/{made['id']}"
    assert client.get(path, headers=ANNA).json() == made
    assert (made["archived"], made["turn_count"], made["user_id"]) == (False, 0, "anna")
    assert (made["message_count"], made["token_count"], made["condensation_count"]) == (0, 0, 0)
    changed = client.patch(path, json={"title": "Beasts", "archived": True}, headers=ANNA).json()
    assert (changed["title"], changed["archived"], changed["metadata"]) == ("Beasts", True, {"level": 2})
    changed = client.patch(path, json={"metadata": {"a": 1}, "document_ids": ["d1"]}, headers=ANNA).json()
    assert (changed["archived"], changed["metadata"], changed["document_ids"]) == (True, {"a": 1}, ["d1"])
    assert client.patch(path, json={"archived": False}, headers=ANNA).json()["archived"] is False


def test_a_project_filters_what_is_listed_searched_and_known(client: TestClient) -> None:
    """Sessions, search, facts, profile, contexts and exports of one project show nothing of another."""
    blue, red = make(client, project="blue"), make(client, project="red", tags=["x"])
    assert (blue["project"], red["tags"], make(client)["project"]) == ("blue", ["x", "project:red"], None)
    for made, words in ((blue, "We deploy with Ansible. My goal is to ship."), (red, "We deploy with Helm.")):
        sent = client.post(f"/sessions/{made['id']}/messages", json={"query": words, "response": "Ok."}, headers=ANNA)
        assert sent.status_code == 201, sent.text
    listed = client.get("/sessions", params={"project": "red"}, headers=ANNA).json()["items"]
    assert [each["id"] for each in listed] == [red["id"]]
    found = client.get("/search", params={"q": "how do we deploy", "project": "blue"}, headers=ANNA).json()["items"]
    assert {each["session_id"] for each in found} == {blue["id"]}
    other = make(client, project="blue")["id"]
    context = client.get(f"/sessions/{other}/context", params={"question": "How do we deploy?"}, headers=ANNA)
    assert "Ansible" in context.text, context.text
    assert "Helm" not in context.text
    lines = client.get("/users/anna/export", params={"project": "red"}, headers=ANNA).text.splitlines()
    assert len(lines) == 1
    exported = "\n".join(client.get("/users/anna/export", params={"project": "blue"}, headers=ANNA).text.splitlines())
    moved_in = client.post("/import", params={"project": "teal"}, content=_for_bruno(exported), headers=BRUNO)
    assert moved_in.json()["sessions_added"] == 2, moved_in.text
    assert len(client.get("/sessions", params={"project": "teal"}, headers=BRUNO).json()["items"]) == 2
    for path in ("/facts", "/profile"):
        assert "ship" not in client.get(path, params={"project": "red"}, headers=ANNA).text
    moved = client.patch(f"/sessions/{red['id']}", json={"project": "blue", "tags": ["y"]}, headers=ANNA).json()
    assert (moved["project"], moved["tags"]) == ("blue", ["y", "project:blue"])
    answer = client.post("/chat", json={"query": "How do we deploy?", "project": "green"}, headers=ANNA).json()
    begun = client.get(f"/sessions/{answer['session_id']}", headers=ANNA).json()
    assert begun["project"] == "green"
    assert "Ansible" not in answer["message"]
    assert client.get("/sessions", params={"project": ""}, headers=ANNA).status_code == 422


def test_what_a_session_cannot_be_is_refused(client: TestClient) -> None:
    """Bad fields are named; unknown sessions are not found, whatever the verb."""
    assert a_problem(client.post("/sessions", json={"title": "a\0b"}), 422)["field"] == "title"
    assert a_problem(client.post("/sessions", json={"titel": "x"}), 422)["field"] == "titel"
    assert a_problem(client.get("/sessions?cursor=nonsense"), 422)["field"] == "cursor"
    for method, path, body in (
        ("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None), ("DELETE", "/history", None),
        ("POST", "/end", None),
        ("GET", "/messages", None), ("POST", "/messages", {"role": "user", "content": "x"}), ("GET", "/topics", None),
        ("GET", "/context?question=x", None), ("GET", "/export", None), ("GET", "/receipts", None),
        ("GET", "/receipts/1", None), ("GET", "/summaries", None), ("POST", "/forget-derived", None),
        ("PATCH", "/topics/t", {}), ("POST", "/topics/t/merge", {"into": "u"}),
        ("POST", "/topics/t/feedback", {"helpful": True}),
    ):  # fmt: skip
        for session in ("unknown", "%00", "%20", "x" * 300):
            a_problem(client.request(method, f"/sessions/{session}{path}", json=body, headers=ANNA), 404)


QUERIES = st.sampled_from(["", "&archived=0", "&archived=1", "&tag=t", "&archived=1&tag=t"])


@given(kinds=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6), limit=st.integers(1, 4), query=QUERIES)
def test_pages_give_every_session_once(
    shared: TestClient, kinds: list[tuple[bool, bool]], limit: int, query: str
) -> None:
    """Whatever the page size and the filter, following the cursors gives what one large page gives, in order."""
    headers = {"X-Ricordo-User": f"pat-{uuid4()}"}
    for archived, tagged in kinds:
        made = shared.post("/sessions", json={"tags": ["t"] if tagged else []}, headers=headers).json()
        if archived:
            shared.patch(f"/sessions/{made['id']}", json={"archived": True}, headers=headers)
    whole = shared.get(f"/sessions?limit=200{query}", headers=headers).json()
    assert whole["next_cursor"] is None
    found, cursor = [], ""
    while True:
        page = shared.get(f"/sessions?limit={limit}{query}{cursor}", headers=headers).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == whole["items"]
    assert len(whole["items"]) == sum(
        ("archived=1" not in query or a) and ("archived=0" not in query or not a) and ("tag" not in query or t)
        for a, t in kinds
    )


def test_turns_come_in_pages_from_the_newest(client: TestClient) -> None:
    """The newest page comes first; `before` leads to the beginning, `after` towards the end."""
    session = make(client)["id"]
    path = f"/sessions/{session}/messages"
    for number in range(1, 8):
        body = {"query": f"{SPOKEN} {number}", "response": f"answer {number}"}
        assert client.post(path, json=body, headers=ANNA).json()["turn_number"] == number
    page = client.get(f"{path}?limit=3", headers=ANNA).json()
    assert [turn["turn_number"] for turn in page["items"]] == [5, 6, 7]
    assert (page["next_before"], page["total"]) == (5, 7)
    page = client.get(f"{path}?limit=3&before=5", headers=ANNA).json()
    assert [turn["turn_number"] for turn in page["items"]] == [2, 3, 4]
    page = client.get(f"{path}?limit=3&before=2", headers=ANNA).json()
    assert ([turn["turn_number"] for turn in page["items"]], page["next_before"]) == ([1], None)
    page = client.get(f"{path}?limit=2&after=3", headers=ANNA).json()
    assert [turn["turn_number"] for turn in page["items"]] == [4, 5]


def test_messages_of_any_role_are_kept(client: TestClient) -> None:
    """A message comes back as it was said; a tool call and its answer stand in the turn between question and answer."""
    path = f"/sessions/{make(client)['id']}/messages"
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = [
        {"role": "user", "content": f"Where is the {SPOKEN}?", "created_at": "2026-01-31T12:00:00+01:00"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "On the island.", "tool_call_id": "c1"},
        {"role": "assistant", "content": "On Rottnest.", "chunk_ids": ["c9"]},
    ]
    for each in said:
        response = client.post(path, json=each, headers=ANNA)
        assert response.status_code == 201, response.text
        assert response.json()["content"] == each["content"]
    (turn,) = client.get(path, headers=ANNA).json()["items"]
    assert [message["role"] for message in turn["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert (turn["query"], turn["response"], turn["chunk_ids"]) == (said[0]["content"], "On Rottnest.", ["c9"])
    assert turn["created_at"].startswith("2026-01-31T11:00:00")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"role": "user"},
        {"content": "x"},
        {"response": "x"},
        {"role": "user", "content": "x", "query": "y"},
        {"query": " ", "response": "x"},
        {"query": "x", "response": " "},
        {"query": "x", "created_at": "2026-01-31T12:00:00"},
        {"role": "user", "content": "x", "metadata": {"a": "\0"}},
        {"role": "user", "content": "x", "tool_calls": [{"a": 1}]},
    ],
)
def test_half_a_message_is_refused(client: TestClient, body: dict[str, Any]) -> None:
    """What is neither a message nor a turn, or cannot be stored, is refused and nothing is kept."""
    path = f"/sessions/{make(client)['id']}/messages"
    a_problem(client.post(path, json=body, headers=ANNA), 422)
    assert client.get(path, headers=ANNA).json()["items"] == []


def test_a_turn_sent_twice_is_stored_once_and_a_changed_one_refused(client: TestClient) -> None:
    """The same turn id with the same words is one turn; with others it is a conflict."""
    path = f"/sessions/{make(client)['id']}/messages"
    body = {"query": "a", "response": "b", "turn_id": "t1"}
    first, again = (client.post(path, json=body, headers=ANNA).json() for _ in range(2))
    for each in (first, again):
        del each["topic_id"]  # it is found beside the talk, perhaps in between
    assert first == again
    a_problem(client.post(path, json=body | {"response": "c"}, headers=ANNA), 409)
    assert client.get(path, headers=ANNA).json()["total"] == 1


def test_a_context_is_told_with_its_receipt_and_rebuilt(client: TestClient) -> None:
    """What would be sent to a model is shown, nothing is kept by it, and a past one comes back to the byte."""
    session = ask(client)["session_id"]
    shown = client.get(f"/sessions/{session}/context?question=And then?&user_id=anna").json()
    assert shown["question"]
    assert shown["receipt"]["total_tokens"] <= shown["receipt"]["limit"]
    assert SPOKEN in shown["prompt"]
    receipts = client.get(f"/sessions/{session}/receipts?user_id=anna").json()["items"]
    assert len(receipts) == 1
    rebuilt = client.get(f"/sessions/{session}/receipts/1?user_id=anna").json()
    assert rebuilt["receipt"] == receipts[0]
    assert rebuilt["messages"][-1]["content"].endswith(f"What does a {SPOKEN} eat?")
    a_problem(client.get(f"/sessions/{session}/receipts/9?user_id=anna"), 404)
    a_problem(client.get(f"/sessions/{session}/context?question=x&budget=0&user_id=anna"), 422)
    a_problem(client.get(f"/sessions/{session}/context?question=%00&user_id=anna"), 422)


def test_the_preview_of_a_context_is_what_the_chat_sends() -> None:
    """The messages of the preview, documents included, are those that the model then gets, byte for byte."""
    model = ScriptedLLM("It eats leaves.", "Mostly at night.")
    with serving(llm=model, chosen=for_chat_alone()) as client:
        text = f"# {SPOKEN}\n\nA {SPOKEN} eats leaves, mostly at night."
        client.post("/documents", json={"title": "Animals", "text": text}, headers=ANNA)
        session = ask(client)["session_id"]
        question = f"When does the {SPOKEN} eat?"
        path, asked = f"/sessions/{session}/context", {"question": question}
        shown = client.get(path, params=asked, headers=ANNA).json()
        ask(client, question, session_id=session)
        assert shown["messages"] == model.asked[1]
        assert any(item["section"] == "chunks" for item in shown["receipt"]["items"])
        assert client.get(f"/sessions/{session}/messages", headers=ANNA).json()["total"] == 2


def test_a_session_is_created_with_its_documents(client: TestClient) -> None:
    """The documents that are given at the creation are the session's, and its record shows them."""
    made = client.post("/sessions", json={"document_ids": ["doc-1", "doc-2"]}, headers=ANNA).json()
    assert made["document_ids"] == ["doc-1", "doc-2"]
    assert client.get(f"/sessions/{made['id']}", headers=ANNA).json()["document_ids"] == ["doc-1", "doc-2"]
    a_problem(client.post("/sessions", json={"document_ids": [""]}, headers=ANNA), 422)


def test_a_session_is_answered_from_its_documents_alone(client: TestClient) -> None:
    """Chat, preview and OpenAI's endpoint take no passage of another document, however many fit better."""
    ids = []
    for number in range(30):
        words = f"# {SPOKEN} {number}\n\nA {SPOKEN} eats leaves, says book {number}."
        words = words if number else f"# Diet\n\nBook zero tells that the {SPOKEN} likes bark and roots to eat."
        added = client.post("/documents", json={"title": f"Book {number}", "text": words}, headers=ANNA).json()
        ids.append(added["id"])
    made = client.post("/sessions", json={"document_ids": ids[:1]}, headers=ANNA).json()["id"]
    question = f"What does a {SPOKEN} eat?"
    shown = client.get(f"/sessions/{made}/context", params={"question": question}, headers=ANNA).json()
    assert any(item["section"] == "chunks" for item in shown["receipt"]["items"])
    assert "says book" not in shown["prompt"]
    answer = ask(client, question, session_id=made)
    assert {each["document_id"] for each in answer["data"]} == {ids[0]}
    assert "bark" in answer["message"]
    body = {"messages": [{"role": "user", "content": question}], "user": "anna", "metadata": {"session_id": made}}
    assert "bark" in client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    assert "says book" in ask(client, question, document_ids=ids[1:])["message"]


def test_topics_are_shown_and_cared_for(client: TestClient) -> None:
    """A topic has a curve that never rises; tags, importance and feedback change it."""
    session = ask(client)["session_id"]
    path = f"/sessions/{session}/topics"
    (topic,) = client.get(path, headers=ANNA).json()["items"]
    worth = [point["priority"] for point in topic["curve"]]
    assert len(worth) == 30
    assert worth == sorted(worth, reverse=True)
    changed = client.patch(f"{path}/{topic['id']}", json={"tags": ["exam"], "importance": 0.9}, headers=ANNA).json()
    assert (changed["tags"], changed["importance"]) == (["exam"], 0.9)
    liked = client.post(f"{path}/{topic['id']}/feedback", json={"helpful": True}, headers=ANNA).json()
    assert liked["importance"] >= 0.9
    a_problem(client.patch(f"{path}/{topic['id']}", json={"importance": 2}, headers=ANNA), 422)
    a_problem(client.patch(f"{path}/unknown", json={"importance": 0.5}, headers=ANNA), 404)
    a_problem(client.post(f"{path}/{topic['id']}/merge", json={"into": "unknown"}, headers=ANNA), 404)


def test_a_turn_says_how_important_its_topic_is(client: TestClient) -> None:
    """Importance given with a turn is that of its topic; a message alone has none, and out of range it is refused."""
    session = client.post("/sessions", json={}, headers=ANNA).json()["id"]
    path, turn = f"/sessions/{session}/messages", {"query": "Che cos'è una fuga?", "response": "Un brano a più voci."}
    assert client.post(path, json={**turn, "importance": 0.3}, headers=ANNA).status_code == 201
    (topic,) = client.get(f"/sessions/{session}/topics", headers=ANNA).json()["items"]
    assert topic["importance"] == 0.3
    refused = client.post(path, json={"role": "user", "content": "x", "importance": 0.3}, headers=ANNA)
    assert a_problem(refused, 422)["field"] == "importance"
    a_problem(client.post(path, json={**turn, "importance": 2}, headers=ANNA), 422)


def test_an_untitled_session_tells_its_first_question(client: TestClient) -> None:
    """A list and a single read give the beginning of the first question where there is no title, and only there."""
    session = make(client)
    path = f"/sessions/{session['id']}"
    assert client.get(f"{path}?user_id=anna").json()["opening"] is None
    for query in ("Quando\n  parte il treno? " + "x" * 200, "E dopo?"):
        client.post(f"{path}/messages?user_id=anna", json={"query": query, "response": "Alle otto."})
    (listed,) = [each for each in client.get("/sessions?user_id=anna").json()["items"] if each["id"] == session["id"]]
    assert listed["opening"].startswith("Quando parte il treno? xxx")
    assert len(listed["opening"]) == 80
    assert client.patch(f"{path}?user_id=anna", json={"title": "Treni"}).json()["opening"] is None


def test_feedback_on_an_answer_weighs_its_topic(client: TestClient) -> None:
    """A thumb is told with its turn, moves the importance of the turn's topic once, and survives other changes."""
    session = make(client)
    path = f"/sessions/{session['id']}"
    body = {"query": "Come si coltivano le carote?", "response": "Le carote vogliono terra sciolta.", "importance": 0.5}
    client.post(f"{path}/messages?user_id=anna", json=body)
    assert service_of(client).memory("default").settle(20)

    def importance() -> float:
        return float(client.get(f"{path}/topics?user_id=anna").json()["items"][0]["importance"])

    before = importance()
    for _ in range(2):
        turn = client.post(f"{path}/messages/1/feedback?user_id=anna", json={"helpful": True}).json()
        assert turn["helpful"] is True
    better = importance()
    assert before < better <= before + 0.2
    session = client.patch(f"{path}?user_id=anna", json={"metadata": {"a": 1}, "archived": False}).json()
    assert session["metadata"] == {"a": 1}
    (turn,) = client.get(f"{path}/messages?user_id=anna").json()["items"]
    assert turn["helpful"] is True
    client.post(f"{path}/messages/1/feedback?user_id=anna", json={"helpful": False})
    assert importance() < better
    a_problem(client.post(f"{path}/messages/2/feedback?user_id=anna", json={"helpful": True}), 404)
    a_problem(client.post(f"{path}/messages/1/feedback?user_id=bruno", json={"helpful": True}), 404)


def test_a_session_ends_with_what_was_learned(client: TestClient) -> None:
    """Ending gives a summary with its turns and the facts; again, the same."""
    session = ask(client, f"My name is Anna and I live in Pisa. What is a {SPOKEN}?")["session_id"]
    path = f"/sessions/{session}/end?user_id=anna"
    ended = client.post(path).json()
    assert ended["session"]["ended_at"]
    assert any("Pisa" in fact["text"] for fact in ended["facts"])
    assert ended["facts"][0]["sources"][0]["turn_number"] == 1
    assert client.post(path).json()["session"]["ended_at"] == ended["session"]["ended_at"]
    assert client.get(f"/sessions/{session}/summaries?user_id=anna").status_code == 200
    assert client.post(f"/sessions/{session}/forget-derived?user_id=anna").json()["removed"] >= 1
    assert client.get("/facts?user_id=anna").json()["items"] == []


def test_history_and_session_are_let_go(client: TestClient) -> None:
    """Clearing keeps the session and starts its numbers anew; deleting leaves nothing."""
    session = ask(client)["session_id"]
    path = f"/sessions/{session}"
    assert client.delete(f"{path}/history", headers=ANNA).json() == {"deleted_turns": 1}
    assert client.get(path, headers=ANNA).json()["turn_count"] == 0
    assert ask(client, session_id=session)["metadata"]["turn_number"] == 1
    assert client.delete(path, headers=ANNA).json() == {"deleted_turns": 1}
    a_problem(client.get(path, headers=ANNA), 404)


def test_a_session_is_exported_as_data_and_as_a_page(client: TestClient) -> None:
    """JSON holds every turn; Markdown is text to read."""
    session = ask(client)["session_id"]
    document = client.get(f"/sessions/{session}/export?user_id=anna").json()
    assert len(document["turns"]) == 1
    assert SPOKEN in str(document["turns"][0])
    page = client.get(f"/sessions/{session}/export?format=markdown&user_id=anna")
    assert page.headers["content-type"].startswith("text/markdown")
    assert SPOKEN in page.text
    a_problem(client.get(f"/sessions/{session}/export?format=pdf&user_id=anna"), 422)


def test_reads_have_tags_and_are_not_sent_twice(client: TestClient) -> None:
    """A reader that has the answer gets 304 without a body until something changes."""
    session = ask(client)["session_id"]
    assert service_of(client).memory("default").settle(30)  # the title comes after the answer
    for path in ("/sessions", f"/sessions/{session}", f"/sessions/{session}/messages", "/facts", "/documents"):
        first = client.get(path, headers=ANNA)
        tag = first.headers["ETag"]
        again = client.get(path, headers=ANNA | {"If-None-Match": tag})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        assert client.get(path, headers=ANNA | {"If-None-Match": f'"other", W/{tag}'}).status_code == 304
        assert client.get(path, headers=ANNA | {"If-None-Match": '"other"'}).content == first.content
    tag = client.get(f"/sessions/{session}", headers=ANNA).headers["ETag"]
    client.patch(f"/sessions/{session}", json={"title": "New"}, headers=ANNA)
    assert client.get(f"/sessions/{session}", headers=ANNA | {"If-None-Match": tag}).status_code == 200


def test_what_is_said_over_http_is_looked_after(client: TestClient) -> None:
    """Every turn leaves a wish to catch up with its session and to end it when idle, in the database."""
    session = ask(client)["session_id"]
    service = service_of(client)
    service.jobs.flush()
    jobs = service.store.jobs.page(Owner("default", "anna"))
    assert {(job.kind, job.session_id) for job in jobs} == {("catch-up", session), ("end", session)}


def test_a_trace_names_what_a_prompt_held(client: TestClient) -> None:
    """Items have titles, first words and places; cited ones are marked; the answer has its steps; others find none."""
    client.post("/documents", json={"title": "Quokkas", "text": "The quokka eats leaves. It lives on an island."})
    first = client.post("/chat", json={"query": "What does the quokka eat?"}).json()
    session = first["session_id"]
    client.post("/chat", json={"query": "Where does the quokka live?", "session_id": session})
    trace = client.get(f"/sessions/{session}/receipts/2/trace").json()
    chunk = next(each for each in trace["items"].values() if each["chunk_id"])
    assert (chunk["title"].split(" · ")[0], chunk["cited"]) == ("Quokkas", True)
    assert "quokka" in chunk["snippet"]
    turn = next(each for each in trace["items"].values() if each["turn_number"] == 1)
    assert (turn["session_id"], turn["snippet"]) == (session, "What does the quokka eat?")
    assert trace["answer"]["answerer"] == "reader"
    assert list(trace["answer"]["timings_ms"]) == ["load", "understand", "retrieve", "compose", "answer"]
    assert trace["answer"]["answer_tokens"] > 0
    other = client.post("/chat", json={"query": "What did I ask about the quokka and its food?"}).json()["session_id"]
    items = client.get(f"/sessions/{other}/receipts/1/trace").json()["items"].values()
    recalled = [each for each in items if each["session_id"] == session]
    assert recalled
    for each in recalled:
        assert 0 < each["score"] <= 1
        assert each["reasons"][0].startswith(("words", "meaning"))
    a_problem(client.get(f"/sessions/{session}/receipts/9/trace"), 404)
    a_problem(client.get(f"/sessions/{session}/receipts/2/trace", headers={"X-Ricordo-User": "bruno"}), 404)


def test_the_steps_of_an_answer_come_in_their_order() -> None:
    """Whatever order a store gives the names back in; what somebody else timed comes after them."""
    timed = replace(
        a_turn(Owner("acme", "anna")), metadata={"timings_ms": {"answer": 3.0, "compose": 2.0, "load": 1.0, "own": 4.0}}
    )
    assert list(answer_out(timed)["timings_ms"]) == ["load", "compose", "answer", "own"]


def test_a_list_of_sessions_tells_what_was_derived(client: TestClient) -> None:
    """With `derived` each session has its topics and summaries, with words, time and turn; without it none."""
    session = client.post("/sessions", json={}).json()["id"]
    for query, response in (
        ("How do I prune an olive tree?", "Prune an olive tree in March, when the frost is over, and keep it open."),
        ("How much water does it need?", "An olive tree needs little water: once a month is enough when it is grown."),
    ):
        client.post(f"/sessions/{session}/messages", json={"query": query, "response": response})
    assert client.post(f"/sessions/{session}/end").status_code == 200
    service_of(client).memory("default").settle(20)
    assert client.get("/sessions").json()["items"][0]["derived"] is None
    derived = client.get("/sessions?derived=true").json()["items"][0]["derived"]
    topic = next(each for each in derived if each["kind"] == "topic")
    assert (topic["text"], topic["turn_number"]) == ("olive tree", 2)
    summary = next(each for each in derived if each["kind"] == "summary")
    assert "olive" in summary["text"]
    assert summary["turn_number"] == 1
