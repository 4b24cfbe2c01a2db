"""Each format: told by its content, read with its dates, order, speakers, tool calls and branches."""

import json
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from foreign_exports import (
    API_TALK,
    CALL,
    NOON,
    agents_database,
    chatgpt_talk,
    claude_message,
    claude_talk,
    langchain_database,
    libre_message,
    libre_talk,
    llama_store,
    mem0_database,
    node,
    webui_talk,
    write,
    write_lines,
)

from ricordo.imports.conversation import Imported, ImportProblem
from ricordo.imports.read import detect, read
from ricordo.limits import Limits
from ricordo.records.turns import SessionInfo, Turn
from ricordo.turns.export import FORMAT, VERSION, from_document

AT = datetime.fromtimestamp(NOON, UTC)
Session = tuple[SessionInfo, list[Turn]]


def sessions(path: Path) -> list[Session]:
    """What a file holds, each document checked as an import checks it; there must be no problem."""
    found = list(read(path))
    assert not [each for each in found if isinstance(each, ImportProblem)]
    return [from_document(each.document, "t", "anna", Limits()) for each in found if isinstance(each, Imported)]


def problems(path: Path) -> list[ImportProblem]:
    """What is wrong with a file."""
    return [each for each in read(path) if isinstance(each, ImportProblem)]


def said(session: Session) -> list[tuple[str, str]]:
    """Who said what, in order."""
    return [(message.role, message.content) for turn in session[1] for message in turn.messages]


def tide_turn(turn: Turn, answer: str = "At six.") -> None:
    """The question about the tide: a call, its result, an answer."""
    assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "assistant"]
    (call,) = turn.steps[0].tool_calls
    assert call["function"]["name"] == "tide_table"
    assert call["id"] == turn.steps[1].tool_call_id == "t1"
    assert turn.steps[1].content == "06:12"
    assert turn.response == answer


# ChatGPT


def test_chatgpt_keeps_dates_order_and_title(tmp_path: Path) -> None:
    """Turns come in order with the dates of their messages, as an import, under the title they had."""
    path = write(tmp_path / "x.json", [chatgpt_talk()])
    assert detect(path) == "chatgpt"
    ((session, turns),) = sessions(path)
    assert (session.title, session.created_at) == ("Talk c1", AT)
    assert [(turn.turn_number, turn.query, turn.response) for turn in turns] == [
        (1, "question 0 of c1", "answer 0 of c1"),
        (2, "question 1 of c1", "answer 1 of c1"),
    ]
    assert turns[1].created_at == AT + timedelta(seconds=120)
    assert turns[1].answer is not None
    assert turns[1].answer.created_at == AT + timedelta(seconds=180)
    assert {turn.origin for turn in turns} == {"import"}
    assert session.metadata["import"] == {"format": "chatgpt", "id": "c1"}


def test_documents_are_of_our_own_format(tmp_path: Path) -> None:
    """What is read is a document that any import of ours takes."""
    (found,) = read(write(tmp_path / "x.json", [chatgpt_talk()]))
    assert isinstance(found, Imported)
    assert (found.document["format"], found.document["version"]) == (FORMAT, VERSION)


@pytest.mark.parametrize("wrapped", [False, True])
def test_chatgpt_shards_are_read_from_an_archive_and_a_folder(tmp_path: Path, wrapped: bool) -> None:
    """Numbered shards are read in order, whatever else lies beside them, and nothing is unpacked."""
    talks = [chatgpt_talk("c1"), chatgpt_talk("c2")]
    folder = tmp_path / "export"
    folder.mkdir()
    for n, talk in enumerate(talks):
        write(folder / f"conversations-00{n}.json", {"conversations": [talk]} if wrapped else [talk])
    write(folder / "user.json", {"id": "me"})
    write(folder / "shared_conversations.json", [{"id": "x"}])
    with zipfile.ZipFile(tmp_path / "e.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for each in folder.iterdir():
            archive.write(each, f"../../{each.name}")
    for path in (folder, tmp_path / "e.zip"):
        assert detect(path) == "chatgpt"
        assert [session.title for session, _ in sessions(path)] == ["Talk c1", "Talk c2"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["e.zip", "export"]


def test_chatgpt_branches_are_sessions_of_their_own(tmp_path: Path) -> None:
    """The branch last shown is the session; an answer asked for again is another one, with its question."""
    talk = chatgpt_talk()
    talk["mapping"]["b1"] = node("b1", "q1", "assistant", "another answer", NOON + 300)
    talk["mapping"]["q9"] = node("q9", "a0", "user", "edited question", NOON + 400)
    main, *others = sessions(write(tmp_path / "x.json", [talk]))
    assert [role for role, _ in said(main)] == ["user", "assistant"] * 2
    assert sorted(said(each) for each in others) == [
        [("user", "edited question")],
        [("user", "question 1 of c1"), ("assistant", "another answer")],
    ]
    assert all(each[0].metadata["branch_of"] == main[0].id for each in others)
    assert len({turn.id for each in (main, *others) for turn in each[1]}) == 4


def test_chatgpt_hides_what_its_page_hides_and_keeps_tools(tmp_path: Path) -> None:
    """Hidden and empty messages are passed over, thoughts too; calls, results and custom instructions are kept."""
    instructions = {"content_type": "user_editable_context", "user_profile": "I sail", "user_instructions": "Be brief"}
    nodes = [
        node("s", None, "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("i", "s", "user", instructions, metadata={"is_user_system_message": True,
             "is_visually_hidden_from_conversation": True}),
        node("q", "i", "user", "Plot it", NOON),
        node("h", "q", "assistant", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
        node("t", "h", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "hm", "content": "well"}]}),
        node("c", "t", "assistant", {"content_type": "code", "text": "plot()"}, recipient="python"),
        node("r", "c", "tool", {"content_type": "execution_output", "text": "done"}, author="python"),
        node("a", "r", "assistant", {"content_type": "multimodal_text", "parts": [
             "Here:", {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}]}, NOON + 5,
             metadata={"model_slug": "gpt-4o"}),
    ]  # fmt: skip
    talk = {"id": "c", "title": None, "mapping": {each["id"]: each for each in nodes}, "current_node": "a"}
    ((session, turns),) = sessions(write(tmp_path / "x.json", [talk]))
    assert session.title is None
    assert [(m.role, m.content) for turn in turns for m in turn.messages] == [
        ("system", "I sail\nBe brief"),
        ("user", "Plot it"),
        ("assistant", ""),
        ("tool", "done"),
        ("assistant", "Here:\n[image]"),
    ]
    call, result = turns[1].steps
    assert call.metadata["thoughts"] == "well"
    assert call.tool_calls[0]["function"] == {"name": "python", "arguments": "plot()"}
    assert (result.tool_call_id, result.name) == (call.tool_calls[0]["id"], "python")
    assert turns[1].answer is not None
    assert turns[1].answer.metadata["model"] == "gpt-4o"
    assert turns[1].answer.metadata["attachments"][0]["asset_pointer"] == "file://1"


def test_chatgpt_citations_become_links(tmp_path: Path) -> None:
    """A mark that only the site can show is replaced by what it cites."""
    talk = chatgpt_talk(turns=1)
    cite = {"start_ix": 5, "end_ix": 15, "metadata": {"title": "Tides", "url": "https://t.example"}}
    talk["mapping"]["a0"] = node("a0", "q0", "assistant", "Moon 【1†source】.", metadata={"citations": [cite]})
    ((_, turns),) = sessions(write(tmp_path / "x.json", [talk]))
    assert turns[0].response == "Moon [Tides](https://t.example)."


def test_chatgpt_circles_and_missing_dates_are_survived(tmp_path: Path) -> None:
    """Messages that answer each other in a circle come once; one without a date has the date before it."""
    talk = chatgpt_talk(turns=1)
    talk["mapping"]["a0"]["message"]["create_time"] = None
    talk["mapping"]["x"] = node("x", "y", "user", "round", NOON)
    talk["mapping"]["y"] = node("y", "x", "assistant", "and round", None)
    main, other = sessions(write(tmp_path / "x.json", [talk]))
    assert main[1][0].answer is not None
    assert main[1][0].answer.created_at == AT
    assert sorted(said(other)) == [("assistant", "and round"), ("user", "round")]


def test_chatgpt_honours_what_is_not_to_be_remembered(tmp_path: Path) -> None:
    """A conversation that its owner marked so is left out, which is told; folders are passed over."""
    path = write(
        tmp_path / "x.json", [{"id": "folder"}, chatgpt_talk("c1", is_do_not_remember=True), chatgpt_talk("c2")]
    )
    documents = [each for each in read(path) if isinstance(each, Imported)]
    assert [each.document["session"]["title"] for each in documents] == ["Talk c2"]
    assert [(each.place, each.kind) for each in problems(path)] == [("x.json, entry 2", "left out")]


# Claude


def test_claude_without_parents_is_read_in_order(tmp_path: Path) -> None:
    """Older exports are one line; thinking is kept aside, tools become calls and results, files are told."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "t1", "name": "tide_table", "input": {"port": "Genova"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "06:12"}]},
        {"type": "text", "text": "At six."},
    ]
    attached = [{"file_name": "a.txt", "extracted_content": "ports"}]
    talk = claude_talk(
        [
            claude_message("m1", "human", "When?", "2025-03-01T09:00:00Z", attachments=attached),
            claude_message("m2", "assistant", "At six.", "2025-03-01T09:01:00Z", content=blocks),
        ]
    )
    path = write(tmp_path / "conversations.json", [talk])
    assert detect(path) == "claude"
    ((session, (turn,)),) = sessions(path)
    assert session.title == "On tides"
    assert turn.query == "When?\n[file: a.txt]\nports"
    tide_turn(turn)
    assert turn.created_at == datetime(2025, 3, 1, 9, tzinfo=UTC)
    assert turn.answer is not None
    assert turn.answer.metadata["thoughts"] == "hm"


def test_claude_with_parents_is_a_tree(tmp_path: Path) -> None:
    """The branch that was written last is the session, however the list mixes them."""
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        claude_message("m1", "human", "When?", "2025-03-01T09:00:00Z", root),
        claude_message("m3", "assistant", "At seven.", "2025-03-01T09:03:00Z", "m1"),
        claude_message("m2", "assistant", "At six.", "2025-03-01T09:01:00Z", "m1"),
    ]
    main, other = sessions(write(tmp_path / "conversations.json", [claude_talk(messages)]))
    assert said(main) == [("user", "When?"), ("assistant", "At seven.")]
    assert said(other) == [("user", "When?"), ("assistant", "At six.")]


# Self-hosted pages


def test_open_webui_follows_the_shown_branch(tmp_path: Path) -> None:
    """The branch that was shown is the session; the other answer is a branch; tags and models are kept."""
    path = write(tmp_path / "x.json", [webui_talk()])
    assert detect(path) == "open-webui"
    main, other = sessions(path)
    assert said(main) == [("user", "Which sail?"), ("assistant", "The jib.")]
    assert said(other)[1] == ("assistant", "The genoa.")
    assert main[0].tags == ("sea",)
    assert main[1][0].answer is not None
    assert main[1][0].answer.metadata["model"] == "qwen"
    assert main[1][0].created_at == AT


@pytest.mark.parametrize("recursive", [False, True])
def test_librechat_is_read_flat_and_recursive(tmp_path: Path, recursive: bool) -> None:
    """Both layouts of an export are the same talk."""
    path = write(tmp_path / "x.json", libre_talk(recursive=recursive))
    assert detect(path) == "librechat"
    ((session, turns),) = sessions(path)
    assert session.title == "Tides"
    assert [(turn.query, turn.response) for turn in turns] == [
        ("What is a tide?", "The sea's rise and fall."),
        ("Who pulls it?", "The moon."),
    ]
    assert turns[0].created_at == datetime(2025, 4, 1, 8, tzinfo=UTC)


def test_librechat_branches_are_kept(tmp_path: Path) -> None:
    """The branch with the newest message is the session, the other one a branch of it."""
    talk = libre_talk(recursive=False)
    talk["messages"].append(libre_message("m9", "m3", "Gravity.", "2025-04-09T08:00:00.000Z", user=False))
    main, other = sessions(write(tmp_path / "x.json", talk))
    assert said(main)[-1] == ("assistant", "Gravity.")
    assert said(other)[-1] == ("assistant", "The moon.")


def test_chatbot_ui_is_read(tmp_path: Path) -> None:
    """Its history is one conversation an entry."""
    talk = {"id": 7, "name": "Tides", "model": {"id": "gpt-4"}, "messages": API_TALK[:2], "folderId": None}
    path = write(tmp_path / "x.json", {"version": 4, "history": [talk], "folders": [], "prompts": []})
    assert detect(path) == "chatbot-ui"
    ((session, turns),) = sessions(path)
    assert session.title == "Tides"
    assert turns[-1].query == "When is high water?"


# Chat APIs and what is stored in their form


@pytest.mark.parametrize("layout", ["list", "object", "lists", "lines of messages", "lines of talks"])
def test_messages_of_a_chat_api_are_read_in_every_layout(tmp_path: Path, layout: str) -> None:
    """One list, an object with one, a list of lists, and JSON lines of either are the same talk."""
    layouts: dict[str, Any] = {"list": API_TALK, "object": {"messages": API_TALK}, "lists": [API_TALK]}
    path = tmp_path / "x.jsonl"
    if layout == "lines of messages":
        write_lines(path, API_TALK)
    elif layout == "lines of talks":
        write_lines(path, [{"messages": API_TALK, "id": "one"}, {"messages": API_TALK, "id": "two"}])
    else:
        write(path, layouts[layout])
    assert detect(path) == "messages"
    found = sessions(path)
    assert len(found) == (2 if layout == "lines of talks" else 1)
    system, turn = found[0][1]
    assert [message.role for message in system.messages] == ["system"]
    tide_turn(turn, "At 06:12.")
    assert turn.steps[0].tool_calls == (CALL,)
    assert found[0][0].metadata["undated"] is True


@pytest.mark.parametrize("flat", [False, True])
def test_sharegpt_is_read(tmp_path: Path, flat: bool) -> None:
    """`from` and `value` are speaker and words, in a dataset or in one list."""
    talk = [{"from": "human", "value": "When?"}, {"from": "gpt", "value": "At six."}]
    path = write(tmp_path / "x.json", talk if flat else [{"id": "a", "conversations": talk}])
    assert detect(path) == "sharegpt"
    (found,) = sessions(path)
    assert said(found) == [("user", "When?"), ("assistant", "At six.")]


@pytest.mark.parametrize("inside", [False, True])
def test_a_llamaindex_chat_store_is_a_session_a_key(tmp_path: Path, inside: bool) -> None:
    """Messages in blocks and in plain content are read, a chat store alone or inside a memory."""
    store = llama_store()
    path = write(tmp_path / "x.json", {"token_limit": 3000, "chat_store": store} if inside else store)
    assert detect(path) == "llamaindex"
    anna, bruno = sessions(path)
    tide_turn(anna[1][0])
    assert said(bruno) == [("user", "Ciao")]
    assert anna[0].metadata["key"] == "anna"


def test_a_llamaindex_database_is_a_session_a_key(tmp_path: Path) -> None:
    """The table of its SQL store is read in order, dated to the nanosecond."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE memory (id INTEGER PRIMARY KEY, key, timestamp INTEGER, role, status, data)")
        for n, each in enumerate(llama_store()["store"]["anna"]):
            row = ("anna", (int(NOON) + n) * 10**9, each["role"], "active", json.dumps(each))
            database.execute("INSERT INTO memory (key, timestamp, role, status, data) VALUES (?, ?, ?, ?, ?)", row)
    assert detect(path) == "llamaindex"
    ((_, (turn,)),) = sessions(path)
    tide_turn(turn)
    assert turn.created_at == AT


@pytest.mark.parametrize("table", ["message_store", "my_history"])
def test_langchain_history_is_read_by_session(tmp_path: Path, table: str) -> None:
    """Rows of two sessions that lie mixed come as two sessions, each in order."""
    path = langchain_database(tmp_path / "x.db", table)
    before = path.read_bytes()
    assert detect(path) == "langchain"
    first, second = sessions(path)
    tide_turn(first[1][0])
    assert said(second) == [("user", "Ciao")]
    assert path.read_bytes() == before


@pytest.mark.parametrize("live", [False, True])
def test_a_database_with_a_log_is_read_whole_and_left_as_it_was(tmp_path: Path, live: bool) -> None:
    """What is still in the log beside a database that is in use is read; beside one at rest nothing is left."""
    path = agents_database(tmp_path / "x.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        item = '{"role": "user", "content": "Newest"}'
        database.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('s1', ?)", (item,))
        database.commit()
        if live:
            assert said(sessions(path)[0])[-1] == ("user", "Newest")
    if not live:
        assert said(sessions(path)[0])[-1] == ("user", "Newest")
        assert [each.name for each in tmp_path.iterdir()] == ["x.db"]


def test_langchain_messages_as_json_are_read(tmp_path: Path) -> None:
    """A list of messages as LangChain writes them is one conversation."""
    rows = [{"type": "human", "data": {"content": "When?"}}, {"type": "ai", "data": {"content": "At six."}}]
    path = write(tmp_path / "x.json", rows)
    assert detect(path) == "langchain"
    assert [said(each) for each in sessions(path)] == [[("user", "When?"), ("assistant", "At six.")]]


def test_openai_agents_sessions_are_read(tmp_path: Path) -> None:
    """Items become messages, calls and results, with the dates of their rows."""
    path = agents_database(tmp_path / "x.db")
    assert detect(path) == "openai-agents"
    ((session, (turn,)),) = sessions(path)
    tide_turn(turn)
    assert session.created_at == turn.created_at == datetime(2025, 5, 1, 8, tzinfo=UTC)
    assert turn.answer is not None
    assert turn.answer.created_at == datetime(2025, 5, 1, 8, 4, tzinfo=UTC)


def test_mem0_history_is_notes_as_they_stand(tmp_path: Path) -> None:
    """Each memory is one note in its last words; a deleted one does not come; nobody's question is made of it."""
    path = mem0_database(tmp_path / "x.db")
    assert detect(path) == "mem0"
    ((_, turns),) = sessions(path)
    assert [turn.response for turn in turns] == ["Has a boat", "Likes coffee"]
    assert all(turn.question is None and turn.answer and turn.answer.name == "mem0" for turn in turns)
    assert turns[1].created_at == datetime(2025, 2, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize("wrapped", [False, True])
def test_mem0_memories_are_notes_by_user(tmp_path: Path, wrapped: bool) -> None:
    """An export of memories is a session of notes for each user it is about."""
    listed = [
        {"id": "m1", "memory": "Likes tea", "user_id": "anna", "created_at": "2025-01-01T00:00:00Z"},
        {"id": "m2", "memory": "Has a boat", "user_id": "bruno", "created_at": "2025-01-01T00:00:00Z"},
    ]
    path = write(tmp_path / "x.json", {"results": listed} if wrapped else listed)
    assert detect(path) == "mem0"
    assert [said(each) for each in sessions(path)] == [[("assistant", "Likes tea")], [("assistant", "Has a boat")]]


# What holds for all


def test_other_fields_are_kept_and_oversized_ones_are_told(tmp_path: Path) -> None:
    """What nobody reads stays under `raw`; where it is too large it is left out and reported."""
    talk = chatgpt_talk(turns=1, gizmo_id="g-1")
    talk["mapping"]["q0"]["message"]["metadata"] = {"voice": "cove"}
    talk["mapping"]["a0"]["message"]["metadata"] = {"huge": "x" * 50_000}
    path = write(tmp_path / "x.json", [talk])
    (found,) = [each for each in read(path) if isinstance(each, Imported)]
    (turn,) = found.document["turns"]
    assert turn["question"]["metadata"]["raw"] == {"voice": "cove"}
    assert "metadata" not in turn["answer"]
    assert found.document["session"]["metadata"]["raw"] == {"gizmo_id": "g-1"}
    (problem,) = problems(path)
    assert (problem.place, problem.kind) == ("x.json, entry 1, message 'a0'", "left out")


def test_an_oversized_message_is_left_out_and_the_rest_comes(tmp_path: Path) -> None:
    """A text beyond the limit is reported with its place."""
    talk = chatgpt_talk()
    talk["mapping"]["q0"]["message"]["content"]["parts"] = ["x" * 2_000_000]
    path = write(tmp_path / "x.json", [talk])
    (found,) = [each for each in read(path) if isinstance(each, Imported)]
    assert [turn["question"] and turn["question"]["content"] for turn in found.document["turns"]] == [
        None,
        "question 1 of c1",
    ]
    assert [each.place for each in problems(path)] == ["x.json, entry 1, message 'q0'"]


def test_bytes_that_are_no_text_are_mended_and_told(tmp_path: Path) -> None:
    """A NUL and a stray byte become the sign for what is no character."""
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"role": "user", "content": "a\\u0000b\xffc"}]')
    (found,) = [each for each in read(path) if isinstance(each, Imported)]
    assert found.document["turns"][0]["question"]["content"] == "a\ufffdb\ufffdc"
    assert [each.kind for each in problems(path)] == ["mended"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_other_encodings_are_understood(tmp_path: Path, encoding: str) -> None:
    """A file that begins with a byte order mark is read like any other."""
    path = tmp_path / "x.json"
    path.write_text('[{"role": "user", "content": "perché"}]', encoding=encoding)
    assert [said(each) for each in sessions(path)] == [[("user", "perché")]]


def test_a_format_can_be_told_from_the_first_bytes() -> None:
    """The beginning of a file is enough."""
    assert detect(b'[{"uuid": "k", "name": "n", "chat_messages": []}, {"uuid": "cut') == "claude"
    assert detect(b"nothing") is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Tides rise twice【3†source】.", "Tides rise twice."),
        ("Tides rise twice 【12:0†tides.pdf】 a day", "Tides rise twice a day"),
        ("Twice :contentReference[oaicite:0]{index=0}.", "Twice."),
        ("Twice \ue200cite\ue202turn0search1\ue202turn0search2\ue201.", "Twice."),
        ('By \ue200entity\ue202["place","Genova","Italy"]\ue201 harbour', "By Genova harbour"),
        ("Twice \ue200navlist\ue202cut", "Twice"),
        ("The sign 【注意】 stays", "The sign 【注意】 stays"),
    ],
)
def test_marks_that_only_the_site_draws_leave_the_text(tmp_path: Path, written: str, shown: str) -> None:
    """Citation marks of ChatGPT without a source leave an answer; an entity is its name; a user's words stay."""
    talk = chatgpt_talk(turns=1)
    talk["mapping"]["a0"] = node("a0", "q0", "assistant", written, NOON + 60)
    talk["mapping"]["q0"] = node("q0", "root", "user", "What is 【3†source】?", NOON)
    (session,) = sessions(write(tmp_path / "c.json", [talk]))
    assert said(session) == [("user", "What is 【3†source】?"), ("assistant", shown)]


def test_a_mark_with_a_known_source_becomes_its_link(tmp_path: Path) -> None:
    """Where the export says what a mark shows, that stands in its place."""
    mark = "\ue200cite\ue202turn0search1\ue201"
    known = {"content_references": [{"matched_text": mark, "alt": "([Tides](https://example.org))"}]}
    talk = chatgpt_talk(turns=1)
    talk["mapping"]["a0"] = node("a0", "q0", "assistant", f"Twice {mark}.", NOON + 60, metadata=known)
    (session,) = sessions(write(tmp_path / "c.json", [talk]))
    assert said(session)[-1] == ("assistant", "Twice ([Tides](https://example.org)).")


@pytest.mark.parametrize(
    "block",
    [
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n'
        "&gt; Which sail?\n</details>\n",
        "<think>&gt; Which sail?</think>\n\n",
        "<|begin_of_thought|>&gt; Which sail?<|end_of_thought|>",
    ],
)
def test_reasoning_of_open_webui_leaves_the_text(tmp_path: Path, block: str) -> None:
    """What a model thought aloud is kept beside its answer, not in it; a user's words stay."""
    talk = webui_talk()
    messages = talk["chat"]["history"]["messages"]
    messages["a1"]["content"] = f"{block}The jib."
    messages["u1"]["content"] = "Which <think>sail</think>?"
    session = sessions(write(tmp_path / "w.json", [talk]))[0]
    assert said(session) == [("user", "Which <think>sail</think>?"), ("assistant", "The jib.")]
    assert session[1][0].messages[1].metadata["thoughts"] == "> Which sail?"
