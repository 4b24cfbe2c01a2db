"""Every tool in the process, through the protocol's own client."""

import json

import pytest
from mcp_samples import ADDS, READS, REMOVES, a_memory, call, client_of, refusal

from ricordo.memory import Memory
from ricordo.records.derived import Flag
from ricordo.records.turns import Owner
from ricordo.testing.fakes import START

pytestmark = pytest.mark.anyio
ANNA = Owner("default", "anna")


def talk(memory: Memory, user_id: str = "anna") -> None:
    """A talk of two turns."""
    session = memory.session("biology", user_id=user_id)
    session.add_turn("What do koalas eat?", "Koalas eat leaves of the eucalyptus.")
    session.add_turn("And where do they live?", "Koalas live in the east of Australia.")


async def test_tools_tell_what_they_do() -> None:
    """Each tool has words, schemas both ways, and hints that tell reading from adding and from removing."""
    with a_memory() as memory:
        async with client_of(memory, tools="all") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == READS | ADDS | REMOVES
    for name, tool in tools.items():
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.read_only_hint is (name in READS)
        assert tool.annotations.open_world_hint is False
        if name not in READS:
            assert tool.annotations.destructive_hint is (name in REMOVES)
    assert list(tools["search"].input_schema["properties"]) == ["query"]
    assert list(tools["fetch"].input_schema["properties"]) == ["id"]


async def test_the_tools_that_are_listed_cost_little() -> None:
    """By default at most 4,000 characters, with words, arguments and hints; the others work without being listed."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"add_memory", "search_memories", "get_context", "search", "fetch"} <= set(tools)
            written = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.values()]
            assert len(json.dumps(written, ensure_ascii=False)) <= 4_000
            for name, tool in tools.items():
                assert tool.description
                assert tool.annotations
                assert tool.annotations.read_only_hint is (name in READS)
            assert tools["search_memories"].input_schema["required"] == ["query"]
            assert tools["search"].input_schema["properties"]["query"]["type"] == "string"
            assert "list_topics" not in tools
            assert (await call(client, "list_topics", session_id="biology"))["topics"]


async def test_a_search_answers_in_few_characters() -> None:
    """At most 1,500 by default, the best first; long words are shortened, and get_memory reads them whole."""
    with a_memory() as memory:
        for number in range(12):
            words = f"The boat number {number} lies in the harbour of Genoa. " * 12
            memory.session(f"s{number}", user_id="anna").add_turn(words, "Noted, the boat lies there.")
        async with client_of(memory) as client:
            answer = await client.call_tool("search_memories", {"query": "Where does boat number 7 lie?"})
            (text,) = answer.content
            assert len(text.text) <= 1_500  # type: ignore[union-attr]
            found = json.loads(text.text)["results"]  # type: ignore[union-attr]
            assert found == answer.structured_content["results"]  # type: ignore[index]
            assert len(found) >= 2
            message = next(each for each in found if each["memory"].endswith("…"))
            assert len((await call(client, "get_memory", memory_id=message["id"]))["memory"]) > 500
            one = await client.call_tool("search_memories", {"query": "boat", "max_characters": 200})
            assert len(one.content[0].text) <= 250  # type: ignore[union-attr]
            more = await call(client, "search_memories", query="boat", max_characters=100_000, limit=20)
            assert len(more["results"]) == 20


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("What is my name?", "Is called Anna"),
        ("Where do I live?", "Lives in Genoa"),
        ("When is my exam?", "exam on 12 May"),
        ("What do I work as?", "nurse"),
    ],
)
async def test_facts_of_one_message_are_told_apart(query: str, answer: str) -> None:
    """The fact that answers comes first, before the others that the same message told."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            told = "My name is Anna, I live in Genoa, I work as a nurse and my exam is on 12 May."
            await call(client, "add_memory", text=told)
            assert memory.settle(20)
            found = (await call(client, "search_memories", query=query))["results"]
            assert answer in found[0]["memory"]
            assert found[0]["kind"] == "fact"


async def test_what_is_added_is_kept_and_learned_from() -> None:
    """A memory is kept word for word in the notes, its id reads it back, and facts are learned from it."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            kept = await call(client, "add_memory", text="My name is Anna and I live in Turin.", metadata={"from": "x"})
            assert kept["session_id"] == "notes"
            (note,) = kept["ids"]
            read = await call(client, "get_memory", memory_id=note)
            assert (read["kind"], read["memory"]) == ("message", "My name is Anna and I live in Turin.")
            assert read["metadata"] == {"from": "x"}
            assert memory.settle(20)
            listed = await call(client, "get_memories")
            assert [each["kind"] for each in listed["results"]] == ["fact", "fact", "message"]
            assert {each["memory"] for each in listed["results"][:2]} == {"Is called Anna", "Lives in Turin"}
            fact = await call(client, "get_memory", memory_id=listed["results"][0]["id"])
            assert fact["sources"][0]["memory_id"] == note


async def test_a_piece_of_talk_is_added_in_order() -> None:
    """Messages go into the session that is named, each with its role, and metadata of the call is on all of them."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            messages = [{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "With milk."}]
            kept = await call(client, "add_memory", messages=messages, run_id="kitchen", metadata={"room": 1})
            assert kept["session_id"] == "kitchen"
            (turn,) = memory.session("kitchen", user_id="anna").history()
            assert (turn.query, turn.response) == ("Tea?", "With milk.")
            assert [dict(each.metadata) for each in turn.messages] == [{"room": 1}] * 2
            assert kept["ids"] == [f"message:{each.id}" for each in turn.messages]
            assert "text" in await refusal(client, "add_memory", text="a", messages=messages)
            assert "text" in await refusal(client, "add_memory")


async def test_agents_have_notes_of_their_own() -> None:
    """What one agent is told is learned by that agent, and listed for it alone."""
    with a_memory() as memory:
        async with client_of(memory, agent_id="coach") as client:
            kept = await call(client, "add_memory", text="I live in Turin.")
            assert kept["session_id"] == "notes-coach"
            assert memory.settle(20)
            assert (await call(client, "get_memories"))["total"] == 2
            assert (await call(client, "get_memories", filters={"agent_id": "default"}))["total"] == 0
        assert [fact.text for fact in memory.facts("anna", "coach")] == ["Lives in Turin"]


async def test_search_finds_facts_and_messages() -> None:
    """A question finds what was said and what was learned from it, best first; filters narrow it."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            await call(client, "add_memory", text="I live in Turin.")
            assert memory.settle(20)
            found = (await call(client, "search_memories", query="Turin"))["results"]
            assert {each["kind"] for each in found} == {"fact", "message"}
            assert [each["score"] for each in found] == sorted((each["score"] for each in found), reverse=True)
            facts = await call(client, "search_memories", query="Turin", filters={"kind": "fact"})
            assert [each["memory"] for each in facts["results"]] == ["Lives in Turin"]
            koalas = await call(
                client, "search_memories", query="koalas", filters={"AND": [{"run_id": "biology"}]}, limit=2
            )
            assert len(koalas["results"]) == 2
            assert {each["session_id"] for each in koalas["results"]} == {"biology"}
            words = await refusal(client, "search_memories", query="koalas", filters={"colour": "red"})
            assert "filters.colour" in words


async def test_pages_of_memories_are_whole_and_apart() -> None:
    """Page by page every memory comes once, newest first."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            for number in range(7):
                await call(client, "add_memory", text=f"Thing number {number}")
            pages = [await call(client, "get_memories", page=page, page_size=3) for page in (1, 2, 3, 4)]
            assert [len(page["results"]) for page in pages] == [3, 3, 1, 0]
            words = [each["memory"] for page in pages for each in page["results"]]
            assert words == [f"Thing number {number}" for number in range(6, -1, -1)]
            assert {page["total"] for page in pages} == {7}


async def test_a_note_is_corrected() -> None:
    """The new words take the place of the old: what both say is still known, what only the old said is forgotten."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            old = (await call(client, "add_memory", text="My name is Anna. I love chess."))["ids"][0]
            assert memory.settle(20)
            before = {fact.text for fact in memory.facts("anna")}
            assert "Is called Anna" in before
            assert len(before) > 1
            new = await call(client, "update_memory", memory_id=old, text="My name is Anna. I live in Turin.")
            assert new["replaced"] == old
            assert memory.settle(20)
            assert {fact.text for fact in memory.facts("anna")} == {"Is called Anna", "Lives in Turin"}
            listed = await call(client, "get_memories", filters={"kind": "message"})
            assert [each["id"] for each in listed["results"]] == [new["id"]]
            assert "memory_id" in await refusal(client, "get_memory", memory_id=old)


async def test_a_fact_is_corrected() -> None:
    """A fact that is wrong is forgotten, and the right words are kept and learned from."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            await call(client, "add_memory", text="I live in Turin.")
            assert memory.settle(20)
            (fact,) = memory.facts("anna")
            memory.clock.advance(minutes=1)  # type: ignore[attr-defined]
            # The correction is the later one, whether it is learned before the old fact is forgotten or after.
            await call(client, "update_memory", memory_id=f"fact:{fact.id}", text="I live in Rome.")
            assert memory.settle(20)
            assert [each.text for each in memory.facts("anna")] == ["Lives in Rome"]


async def test_a_standing_wish_is_listed_and_deleted() -> None:
    """A wish for all later answers has its kind and how sure it is, leads the context, and goes like a fact."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            await call(client, "add_memory", text="I live in Turin. From now on answer in Dutch.")
            assert memory.settle(20)
            listed = (await call(client, "get_memories", filters={"kind": "fact"}))["results"]
            (wish,) = [each for each in listed if each["fact_kind"] == "instruction"]
            assert "Dutch" in wish["memory"]
            assert 0 < wish["confidence"] < 1
            assert "Dutch" in memory.profile("anna").key_facts[0]
            assert (await call(client, "delete_memory", memory_id=wish["id"]))["removed"] == {"facts": 1}
            assert [fact.text for fact in memory.facts("anna")] == ["Lives in Turin"]


async def test_what_was_said_in_a_talk_is_not_rewritten() -> None:
    """A message of a conversation cannot be updated, and says what to do instead."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            message = memory.session("biology", user_id="anna").history()[0].messages[0]
            words = await refusal(client, "update_memory", memory_id=f"message:{message.id}", text="Other words")
            assert "memory_id" in words
            assert "add_memory" in words
            assert memory.session("biology", user_id="anna").history()[0].query == "What do koalas eat?"


async def test_one_memory_is_deleted() -> None:
    """A fact goes for good; a message goes with its turn, and with it the facts that were said only there."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            note = (await call(client, "add_memory", text="My name is Anna. I live in Turin."))["ids"][0]
            assert memory.settle(20)
            named = next(fact for fact in memory.facts("anna") if fact.kind == "name")
            assert (await call(client, "delete_memory", memory_id=f"fact:{named.id}"))["removed"] == {"facts": 1}
            assert [fact.text for fact in memory.facts("anna")] == ["Lives in Turin"]
            gone = await call(client, "delete_memory", memory_id=note)
            assert gone["removed"] == {"facts": 1, "turns": 1}
            assert note in gone["ids"]
            assert memory.facts("anna") == []
            found = await call(client, "search_memories", query="Turin")
            assert not [each for each in found["results"] if "Turin" in each["memory"]]
            assert memory.session("biology", user_id="anna").info().turn_count == 2


async def test_all_memories_are_deleted_within_their_bounds() -> None:
    """A session, an agent, or everything of the user; never what is another user's."""
    with a_memory() as memory:
        talk(memory)
        talk(memory, "bob")
        memory.session("gym", user_id="anna", agent_id="coach").add_turn("I live in Turin.", "Good.")
        assert memory.settle(20)
        async with client_of(memory) as client:
            await call(client, "add_memory", text="I like tea.")
            assert (await call(client, "delete_all_memories", run_id="biology"))["removed"] == {
                "sessions": 1,
                "turns": 2,
            }
            await call(client, "delete_all_memories", agent_id="coach")
            assert memory.facts("anna", "coach") == []
            assert [info.id for info in memory.sessions(user_id="anna")] == ["notes"]
            await call(client, "delete_all_memories")
            assert memory.sessions(user_id="anna") == []
            assert memory.facts("anna") == []
            assert len(memory.sessions(user_id="bob")) == 1
            assert "run_id" in await refusal(client, "delete_all_memories", run_id="biology")


async def test_entities_are_those_of_one_user() -> None:
    """The user, their agents and their sessions are listed, and can be removed one at a time."""
    with a_memory() as memory:
        talk(memory)
        talk(memory, "bob")
        memory.session("gym", user_id="anna", agent_id="coach").add_turn("Hello", "Hi")
        async with client_of(memory) as client:
            listed = (await call(client, "list_entities"))["results"]
            names = {(each["type"], each["id"]) for each in listed}
            agents = {("agent", "coach"), ("agent", "default")}
            assert names == {("user", "anna"), ("run", "biology"), ("run", "gym")} | agents
            await call(client, "delete_entities", run_id="gym")
            assert "exactly one" in await refusal(client, "delete_entities")
            assert "exactly one" in await refusal(client, "delete_entities", run_id="biology", agent_id="default")
            assert "user_id" in await refusal(client, "delete_entities", user_id="bob")
            await call(client, "delete_entities", user_id="anna")
            assert memory.sessions(user_id="anna") == []
            assert len(memory.sessions(user_id="bob")) == 1


async def test_a_context_holds_what_is_known_within_its_budget() -> None:
    """The context of a question has the talk and the facts, and no more tokens than were given."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            await call(client, "add_memory", text="My name is Anna.")
            assert memory.settle(20)
            built = await call(client, "get_context", session_id="biology", query="What was that again?")
            assert "eucalyptus" in built["prompt"]
            assert "Is called Anna" in built["prompt"]
            assert built["messages"][-1]["role"] == "user"
            small = await call(client, "get_context", session_id="biology", query="What was that?", token_budget=300)
            assert small["tokens"] <= small["token_budget"] == 300
            outside = await call(client, "get_context", query="Who am I?")
            assert "Is called Anna" in outside["prompt"]
            assert "session_id" in await refusal(client, "get_context", session_id="nowhere", query="What?")
            assert [info.id for info in memory.sessions(user_id="anna")] != []
            assert len(memory.sessions(user_id="anna")) == 2  # asking has made none


async def test_a_sign_of_crisis_comes_with_a_notice() -> None:
    """Whoever asks for a context learns that something must be said first."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            assert (await call(client, "get_context", query="I want to kill myself"))["notice"]
            assert (await call(client, "get_context", query="What do koalas eat?"))["notice"] is None


async def test_sessions_are_listed_and_read_page_by_page() -> None:
    """Lists go on where they ended, and a talk is read from its end to its beginning, in order within a page."""
    with a_memory() as memory:
        for number in range(5):
            memory.session(f"s{number}", user_id="anna").add_turn("Hello", "Hi")
        talk(memory)
        async with client_of(memory) as client:
            names, before = [], None
            while True:
                page = await call(client, "list_sessions", limit=4, before=before)
                names += [each["id"] for each in page["sessions"]]
                before = page["next_before"]
                if before is None:
                    break
            assert sorted(names) == ["biology", "s0", "s1", "s2", "s3", "s4"]
            newest = await call(client, "get_session", session_id="biology", limit=1)
            assert [each["role"] for each in newest["messages"]] == ["user", "assistant"]
            assert newest["next_before"] == 2
            older = await call(client, "get_session", session_id="biology", limit=1, before=2)
            assert older["messages"][0]["content"] == "What do koalas eat?"
            assert older["next_before"] is None


async def test_messages_are_appended_with_their_tool_calls() -> None:
    """A talk keeps roles, order, times and tool calls; without a session it gets a new one."""
    asked = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Rain?", "created_at": "2026-05-01T10:00:00Z"},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "content": "sun", "tool_call_id": "c1"},
        {"role": "assistant", "content": "No rain."},
    ]
    with a_memory() as memory:
        async with client_of(memory) as client:
            kept = await call(client, "append_messages", messages=messages)
            assert len(kept["ids"]) == 4
            read = await call(client, "get_session", session_id=kept["session_id"])
            assert [each["role"] for each in read["messages"]] == ["user", "assistant", "tool", "assistant"]
            assert read["messages"][0]["created_at"] == "2026-05-01T10:00:00Z"
            assert read["messages"][1]["tool_calls"] == [asked]
            assert read["messages"][2]["tool_call_id"] == "c1"
            again = await call(client, "append_messages", session_id=kept["session_id"], messages=messages[:1])
            assert again["session_id"] == kept["session_id"]


async def test_nothing_is_kept_of_messages_with_a_blank_among_them() -> None:
    """A text that cannot be kept is named by its place, before any of the others is written."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            messages = [{"content": "fine"}, {"content": "  "}]
            words = await refusal(client, "append_messages", session_id="s", messages=messages)
            assert "messages[1].content" in words
            assert memory.sessions(user_id="anna") == []
            assert "text" in await refusal(client, "add_memory", text="\0")
            words = await refusal(client, "append_messages", messages=[{"content": "a"}, {"content": "b", "name": ""}])
            assert "messages[1].name" in words
            assert "the 1 before it are stored" in words


async def test_topics_are_listed() -> None:
    """What a session is about, with what it is worth."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            topics = (await call(client, "list_topics", session_id="biology"))["topics"]
            assert topics
            assert sum(each["message_count"] for each in topics) == 4
            assert all(0 < each["priority"] <= 1 for each in topics)


async def test_an_exported_session_can_be_imported_again() -> None:
    """The document brings the same talk to another memory; the Markdown is there to be read."""
    with a_memory() as memory, a_memory() as other:
        talk(memory)
        async with client_of(memory) as client:
            document = (await call(client, "export_session", session_id="biology"))["document"]
            assert other.import_documents([document]).turns_added == 2
            assert (
                other.session("biology", user_id="anna").history()[1].response
                == "Koalas live in the east of Australia."
            )
            text = await call(client, "export_session", session_id="biology", format="markdown")
            assert "eucalyptus" in text["markdown"]


async def test_connectors_search_and_fetch() -> None:
    """`search` gives one text of JSON with id, title and url; `fetch` gives the turn around a result."""
    with a_memory() as memory:
        talk(memory)
        async with client_of(memory) as client:
            result = await client.call_tool("search", {"query": "leaves for koalas"})
            (text,) = result.content
            found = json.loads(text.text)["results"]  # type: ignore[union-attr]
            assert found == result.structured_content["results"]  # type: ignore[index]
            assert set(found[0]) == {"id", "title", "url"}
            page = await call(client, "fetch", id=found[0]["id"])
            assert set(page) == {"id", "title", "text", "url", "metadata"}
            assert "What do koalas eat?" in page["text"]
            assert "eucalyptus" in page["text"]
            assert page["url"] == "session://biology"
            contents = (await client.read_resource(page["url"])).contents
            assert "eucalyptus" in contents[0].text  # type: ignore[union-attr]


async def test_what_is_in_quarantine_is_given_to_no_model() -> None:
    """A message that was put away is not found, listed, read or shown, until it is released."""
    with a_memory() as memory:
        talk(memory)
        bad = memory.session("biology", user_id="anna").history()[0].messages[1]
        flag = Flag("f1", "message", bad.id, "biology", ("test",), "assistant_said", "quarantined", START)
        assert memory.store.people.put_flag(ANNA, flag)
        async with client_of(memory) as client:
            told = []
            for name, arguments in (
                ("search_memories", {"query": "leaves for koalas"}),
                ("get_memories", {"filters": {"run_id": "biology"}}),
                ("get_session", {"session_id": "biology"}),
                ("search", {"query": "leaves for koalas"}),
                ("fetch", {"id": f"message:{memory.session('biology', user_id='anna').history()[0].messages[0].id}"}),
            ):
                told.append(json.dumps(await call(client, name, **arguments)))
            told.append(str(await client.read_resource("session://biology")))
            assert all("koalas" in each for each in told)
            assert not [each for each in told if "eucalyptus" in each]
            assert "quarantine" in await refusal(client, "get_memory", memory_id=f"message:{bad.id}")
            memory.set_flag("f1", "released", user_id="anna")
            assert "eucalyptus" in json.dumps(await call(client, "search_memories", query="eucalyptus"))
