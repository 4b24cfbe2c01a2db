"""Whose memory it is never comes from an argument; and what fails says what, and nothing of ours."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from mcp_samples import ADDS, READS, REMOVES, a_memory, call, client_of, refusal

from ricordo.errors import StoreError, StoreUnavailable, ValidationError
from ricordo.mcp.memories import memory_id, parse_memory_id
from ricordo.mcp.server import server_for
from ricordo.memory import Memory
from ricordo.testing.fakes import StoreProxy

pytestmark = pytest.mark.anyio

FITTING: dict[str, dict[str, Any]] = {
    "add_memory": {"text": "a"},
    "append_messages": {"messages": [{"content": "a"}]},
    "search_memories": {"query": "a"},
    "get_memory": {"memory_id": "fact:a"},
    "update_memory": {"memory_id": "fact:a", "text": "a"},
    "delete_memory": {"memory_id": "fact:a"},
    "get_context": {"query": "a"},
    "get_session": {"session_id": "a"},
    "list_topics": {"session_id": "a"},
    "export_session": {"session_id": "a"},
    "search": {"query": "a"},
    "fetch": {"id": "fact:a"},
}


@pytest.mark.parametrize("name", sorted(READS | ADDS | REMOVES))
async def test_no_tool_serves_a_user_that_an_argument_names(name: str) -> None:
    """Another user id or tenant id is refused by every tool, whether it has such an argument or not."""
    with a_memory() as memory:
        memory.session("a", user_id="bob").add_turn("Mine", "Yours")
        async with client_of(memory) as client:
            fitting = FITTING.get(name, {})
            assert "user_id: these are the memories of 'anna'" in await refusal(client, name, **fitting, user_id="bob")
            assert "tenant_id: cannot be chosen" in await refusal(client, name, **fitting, tenant_id="other")
        assert memory.session("a", user_id="bob").info().turn_count == 1
        assert memory.sessions(user_id="anna") == []


async def test_arguments_that_are_not_understood_are_refused() -> None:
    """Who asks for less than all to be deleted, in a way that is not known here, does not lose all."""
    with a_memory() as memory:
        memory.session("a", user_id="anna").add_turn("Mine", "Yours")
        async with client_of(memory) as client:
            assert "app_id: is not an argument" in await refusal(client, "delete_all_memories", app_id="chess")
            assert "after: is not an argument" in await refusal(client, "search_memories", query="a", after="2026")
        assert memory.session("a", user_id="anna").info().turn_count == 1


async def test_the_right_user_may_be_named() -> None:
    """Programs that always send a user id work, as long as it is the one."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            (kept,) = (await call(client, "add_memory", text="I like tea.", user_id="anna", tenant_id="default"))["ids"]
            found = await call(client, "get_memories", filters={"user_id": "anna"})
            assert kept in [each["id"] for each in found["results"]]
            assert "filters.user_id" in await refusal(client, "get_memories", filters={"user_id": "bob"})


async def test_what_is_another_users_is_not_there() -> None:
    """Sessions, messages and facts of somebody else cannot be told from those that do not exist."""
    with a_memory() as memory:
        session = memory.session("secret", user_id="bob")
        turn = session.add_turn("I live in Oslo.", "Fine.")
        assert memory.settle(20)
        (fact,) = memory.facts("bob")
        ids = [f"message:{turn.messages[0].id}", f"fact:{fact.id}"]
        async with client_of(memory) as client:
            for name in ("get_session", "list_topics", "export_session"):
                theirs = await refusal(client, name, session_id="secret")
                assert theirs.replace("secret", "nobody") == await refusal(client, name, session_id="nobody")
            for own in ids:
                kind = own.partition(":")[0]
                assert f"there is no {kind}" in await refusal(client, "get_memory", memory_id=own)
                assert f"there is no {kind}" in await refusal(client, "fetch", id=own)
                assert f"there is no {kind}" in await refusal(client, "delete_memory", memory_id=own)
                assert f"there is no {kind}" in await refusal(client, "update_memory", memory_id=own, text="mine")
            assert "there is no session" in await refusal(client, "delete_entities", run_id="secret")
            for name in ("search_memories", "search"):
                assert (await call(client, name, query="Oslo"))["results"] == []
            assert "Oslo" not in (await call(client, "get_context", query="Where? Oslo?"))["prompt"].replace(
                "Oslo?", ""
            )
            with pytest.raises(MCPError, match="no session"):
                await client.read_resource("session://secret")
        assert memory.session("secret", user_id="bob").history() == [turn] or session.info().turn_count == 1
        assert memory.facts("bob") == [fact]


async def test_errors_name_the_field() -> None:
    """A call that does not fit its schema, or the memory's rules, says which field is wrong."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            for name, arguments, field in (
                ("add_memory", {"text": 5}, "text"),
                ("add_memory", {"text": "a", "run_id": ""}, "session_id"),
                ("search_memories", {"query": ""}, "query"),
                ("search_memories", {"query": "a", "limit": 0}, "limit"),
                ("search_memories", {}, "query"),
                ("get_memories", {"page_size": 10_000}, "page_size"),
                ("get_memory", {"memory_id": "nonsense"}, "memory_id"),
                ("get_memory", {"memory_id": "message:"}, "memory_id"),
                ("fetch", {"id": "message:" + "x" * 300 + ":query"}, "memory_id"),
                ("update_memory", {"memory_id": "fact:a", "text": " "}, "text"),
                ("export_session", {"session_id": "a", "format": "pdf"}, "format"),
                ("list_sessions", {"before": "a"}, "before"),
                ("append_messages", {"messages": []}, "messages"),
                ("append_messages", {"messages": [{"content": "a", "colour": "b"}]}, "messages.0.colour"),
            ):
                assert field in await refusal(client, name, **arguments), name
            assert "Unknown tool" in await refusal(client, "no_such_tool")


class Broken(StoreProxy):
    """A store whose sessions cannot be read, for a reason that is nobody's business."""

    failure: Exception = StoreError("host db7 refused row 'quokka'")

    def sessions_page(self, *args: Any, **more: Any) -> Any:
        raise self.failure


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (StoreError("host db7 refused row 'quokka'"), "the database failed"),
        (StoreUnavailable("host db7 is away"), "try again later"),
        (RuntimeError("quokka in db7"), "an internal error occurred"),
    ],
)
async def test_failures_of_ours_stay_with_us(failure: Exception, words: str, caplog: pytest.LogCaptureFixture) -> None:
    """A model reads that something failed, not where; and the log has no words of what is no error of ours."""
    store = Broken()
    store.failure = failure
    with Memory(store) as memory:
        async with client_of(memory) as client:
            told = await refusal(client, "list_sessions")
    assert words in told
    assert "db7" not in told
    assert "quokka" not in told
    if isinstance(failure, RuntimeError):
        assert "quokka" not in caplog.text
        assert "RuntimeError" in caplog.text


async def test_prompts_hold_what_is_known() -> None:
    """A prompt with memory has the facts; the one about the user lists them, or says that there are none."""
    with a_memory() as memory:
        async with client_of(memory) as client:
            assert {each.name for each in (await client.list_prompts()).prompts} == {"with_memory", "about_me"}
            assert "nothing yet" in str(await client.get_prompt("about_me"))
            await call(client, "add_memory", text="I live in Turin.")
            assert memory.settle(20)
            assert "Lives in Turin" in str(await client.get_prompt("about_me"))
            assert "Lives in Turin" in str(await client.get_prompt("with_memory", {"question": "Where do I live?"}))
            assert "Lives in Turin" in str(await client.read_resource("profile://default"))


def test_users_that_cannot_be_are_refused_at_the_start() -> None:
    """A server for nobody, or for a name that is not for users, is never made."""
    with a_memory() as memory:
        for wrong in ("", "  ", "ricordo:library"):
            with pytest.raises(ValidationError, match="user_id"):
                server_for(memory, wrong)
        with pytest.raises(ValidationError, match="agent_id"):
            server_for(memory, "anna", "")


def test_the_program_keeps_its_own_logging() -> None:
    """Making a server leaves the root logger as it was."""
    import logging

    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    with a_memory() as memory:
        server_for(memory, "anna")
    assert (list(root.handlers), root.level) == before


@given(st.sampled_from(["fact", "message"]), st.text(min_size=1))
def test_memory_ids_are_read_back(kind: Any, own: str) -> None:
    """Whatever an id of ours looks like, colons included, a memory id leads back to it."""
    assert parse_memory_id(memory_id(kind, own)) == (kind, own)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts)
async def test_words_come_back_as_they_were_given(words: str) -> None:
    """Any text that can be kept is read back to the letter, where nothing looks for what is suspicious."""
    with a_memory(remember_person="off") as memory:
        async with client_of(memory) as client:
            (note,) = (await call(client, "add_memory", text=words))["ids"]
            assert (await call(client, "get_memory", memory_id=note))["memory"] == words
