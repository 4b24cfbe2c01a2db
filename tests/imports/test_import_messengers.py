"""Chats of WhatsApp and Telegram: both date styles, lines of the program, media, several lines, twice is once."""

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.imports.conversation import Conversation
from ricordo.imports.messengers import is_whatsapp, whatsapp
from ricordo.imports.read import detect
from ricordo.imports.run import import_path
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.settings import Settings
from ricordo.testing import FakeClock, MemoryStore

ITALIAN_ANDROID = """\
31/12/24, 21:45 - I messaggi e le chiamate sono crittografati end-to-end. Nessun altro può leggerli.
31/12/24, 21:45 - Anna: Ciao Marco, domani alle 9?
31/12/24, 21:46 - Marco: Sì!
Porto io:
- il vino
- il pane: quello buono
31/12/24, 21:47 - Anna: <Media omessi>
31/12/24, 21:48 - Marco: Questo messaggio è stato eliminato
01/01/25, 00:01 - Anna: Buon anno! <Questo messaggio è stato modificato>
01/01/25, 00:02 - Marco: IMG-20250101-WA0001.jpg (file allegato)
Guarda che luna
01/01/25, 00:03 - Marco ha cambiato l'immagine del gruppo
"""
ENGLISH_IOS = """\
[12/31/24, 9:45:12\u202fPM] Marco: \u200eMessages and calls are end-to-end encrypted. No one else can.
[12/31/24, 9:45:12\u202fPM] Anna: Hi Marco, tomorrow at 9?
[12/31/24, 9:46:00\u202fPM] Marco: Yes!
I bring:
- wine
\u200e[12/31/24, 9:47:00\u202fPM] Anna: \u200eimage omitted
\u200e[1/1/25, 12:01:30\u202fAM] Marco: \u200e<attached: 00000012-AUDIO-2025-01-01-00-01-30.opus>
[1/1/25, 12:02:00\u202fAM] Marco: \u200eYou deleted this message.
"""


def memory() -> ricordo.Memory:
    """A memory of nothing yet."""
    return ricordo.Memory(MemoryStore(), Settings(), clock=FakeClock(), embedder=LightEmbedder())


def put(folder: Path, name: str, written: str) -> Path:
    """A file of that name."""
    path = folder / name
    path.write_text(written, encoding="utf-8")
    return path


def told(opened: ricordo.Memory) -> list[tuple[str, str | None, str]]:
    """Role, speaker and words of every message of the one session."""
    (info,) = opened.sessions(user_id="anna")
    turns = opened.session(info.id, user_id="anna").history()
    return [(each.role, each.name, each.content) for turn in turns for each in turn.messages]


def test_an_italian_chat_of_android(tmp_path: Path) -> None:
    """Notices and deleted messages do not come, lines below belong to their message, media leave a sign."""
    path = put(tmp_path, "Chat WhatsApp con Marco.txt", ITALIAN_ANDROID)
    with memory() as opened:
        report = import_path(opened, path, user_id="anna")
        assert (report.format, report.problems) == ("whatsapp", ())
        assert told(opened) == [
            ("user", "Anna", "Ciao Marco, domani alle 9?"),
            ("assistant", "Marco", "Sì!\nPorto io:\n- il vino\n- il pane: quello buono"),
            ("user", "Anna", "[file]"),
            ("user", "Anna", "Buon anno!"),
            ("assistant", "Marco", "[image]\nGuarda che luna"),
        ]
        (info,) = opened.sessions(user_id="anna")
        assert info.title == "Marco"
        assert info.created_at == datetime(2024, 12, 31, 21, 45, tzinfo=UTC)


def test_an_english_chat_of_ios_in_its_archive(tmp_path: Path) -> None:
    """The month comes first and the clock has halves; the name of the archive says who the other person is."""
    path = tmp_path / "WhatsApp Chat - Marco.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", ENGLISH_IOS)
        archive.writestr("00000012-AUDIO-2025-01-01-00-01-30.opus", b"OggS")
    with memory() as opened:
        assert import_path(opened, path, user_id="anna").problems == ()
        assert told(opened) == [
            ("user", "Anna", "Hi Marco, tomorrow at 9?"),
            ("assistant", "Marco", "Yes!\nI bring:\n- wine"),
            ("user", "Anna", "[image]"),
            ("assistant", "Marco", "[audio]"),
        ]
        (info,) = opened.sessions(user_id="anna")
        turns = opened.session(info.id, user_id="anna").history()
        assert turns[-1].messages[-1].created_at == datetime(2025, 1, 1, 0, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Chat WhatsApp con Marco.txt", "other.txt"])
def test_twice_is_once_and_a_longer_export_adds_what_is_new(tmp_path: Path, name: str) -> None:
    """Importing again changes nothing; the same chat exported later brings only the new messages."""
    path = put(tmp_path, name, ITALIAN_ANDROID)
    with memory() as opened:
        first = import_path(opened, path, user_id="anna")
        again = import_path(opened, path, user_id="anna")
        assert first.turns_added > 0
        assert (again.sessions_added, again.turns_added, again.problems) == (0, 0, ())
        put(tmp_path, name, f"{ITALIAN_ANDROID}02/01/25, 08:00 - Anna: Colazione?\n")
        later = import_path(opened, path, user_id="anna")
        assert (later.sessions_added, later.turns_added) == (0, 1)
        assert told(opened)[-1][2] == "Colazione?"


def test_without_a_name_nothing_is_the_users_unless_told(tmp_path: Path) -> None:
    """Where it cannot be told who the person is, all messages are of others; `me` names the person."""
    path = put(tmp_path, "group.txt", ITALIAN_ANDROID)
    with memory() as opened:
        import_path(opened, path, user_id="anna")
        assert {role for role, _, _ in told(opened)} == {"assistant"}
    with memory() as opened:
        import_path(opened, path, user_id="anna", me="marco")
        assert {name for role, name, _ in told(opened) if role == "user"} == {"Marco"}


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["03/04/24, 10:00 - A: x", "13/04/24, 10:00 - A: y"], [(4, 3), (4, 13)]),
        (["03/04/24, 10:00 - A: x", "03/14/24, 10:00 - A: y"], [(3, 4), (3, 14)]),
        (["01/02/24, 10:00 - A: x", "02/02/24, 10:00 - A: y", "03/02/24, 10:00 - A: z"], [(2, 1), (2, 2), (2, 3)]),
        (["3/4/24, 10:00 PM - A: x"], [(3, 4)]),
        (["3/4/24, 22:00 - A: x"], [(4, 3)]),
        (["11/1/24, 10:00 - A: x", "12/1/24, 10:00 - A: y", "1/2/25, 10:00 - A: z"], [(1, 11), (1, 12), (2, 1)]),
        (["2024-04-03, 22:00 - A: x"], [(4, 3)]),
        (["03.04.24, 22:00 - A: x", "14.04.24, 22:00 - A: x"], [(4, 3), (4, 14)]),
        (["11/30/24, 10:00 - A: x", "1/2/25, 10:00 - A: y"], [(11, 30), (1, 2)]),
    ],
)
def test_which_number_is_the_month(lines: list[str], days: list[tuple[int, int]]) -> None:
    """A number above twelve decides for the whole file, else the order of the days, else the clock."""
    (chat,) = whatsapp(lines, "chat.txt")
    assert isinstance(chat, Conversation)
    found = [each.created_at for each in chat.paths[0]]
    assert [(each.month, each.day) for each in found if each] == days


def test_a_date_that_does_not_exist_is_reported() -> None:
    """A message on the 31st of February is left out by name; the others come."""
    (chat,) = whatsapp(["30/01/24, 10:00 - A: x", "31/02/24, 10:00 - A: y"], "chat.txt")
    assert isinstance(chat, Conversation)
    assert len(chat.paths[0]) == 1
    assert [problem.kind for problem in chat.problems] == ["left out"]


@given(st.lists(st.tuples(st.sampled_from(["Anna", "Marco: Rossi", "+39 333"]), st.text(max_size=30)), max_size=8))
def test_any_words_are_read(said: list[tuple[str, str]]) -> None:
    """Whatever is said, nothing raises, and reading it again gives the same messages with ids of their own."""
    lines = [f"31/12/24, 21:45 - {speaker}: {words}" for speaker, words in said]
    once, twice = (list(whatsapp(iter(lines), "chat.txt")) for _ in range(2))
    assert once == twice
    for chat in once:
        if isinstance(chat, Conversation):
            assert len({each.id for each in chat.paths[0]}) == len(chat.paths[0])


@pytest.mark.parametrize(
    "head",
    ["", "[1, 2, 3]", '[{"role": "user"}]', "Dear diary,\n31/12/24, 21:45 - Anna: hi", "31/12/24 was a fine day"],
)
def test_other_texts_are_no_chat(head: str) -> None:
    """A list of JSON, a diary and an empty text are not taken for a chat."""
    assert not is_whatsapp(head)


def telegram_chat(**fields: Any) -> dict[str, Any]:
    """A chat between two as Telegram exports it."""

    def message(number: int, who: str, said: Any, **more: Any) -> dict[str, Any]:
        at = 1735681500 + 60 * number
        return {
            "id": number,
            "type": "message",
            "date": "2024-12-31T21:45:00",
            "date_unixtime": str(at),
            "from": who,
            "from_id": f"user{len(who)}",
            "text": said,
            **more,
        }

    return {
        "name": "Marco",
        "type": "personal_chat",
        "id": 4711,
        "messages": [
            {"id": 1, "type": "service", "date": "2024-12-31T21:44:00", "date_unixtime": "1735681440", "action": "x"},
            message(2, "Anna", "Ciao, domani alle 9?"),
            message(3, "Marco", ["Sì, vedi ", {"type": "link", "text": "https://example.org"}, "\nPorto il vino"]),
            message(4, "Anna", "", photo="photos/1.jpg", width=1, height=1),
            message(5, "Marco", "", media_type="voice_message", file="voice/1.ogg"),
            message(6, "Anna", "Odio il pesce", forwarded_from="Luca"),
            message(7, "Anna", "", file="files/menu.pdf", file_name="menu.pdf"),
        ],
        **fields,
    }


def test_a_chat_of_telegram(tmp_path: Path) -> None:
    """Words in parts are one text, media leave a sign, forwarded words are not the person's, services do not come."""
    path = put(tmp_path, "result.json", json.dumps(telegram_chat()))
    with memory() as opened:
        report = import_path(opened, path, user_id="anna")
        assert (report.format, report.problems) == ("telegram", ())
        assert told(opened) == [
            ("user", "Anna", "Ciao, domani alle 9?"),
            ("assistant", "Marco", "Sì, vedi https://example.org\nPorto il vino"),
            ("user", "Anna", "[image]"),
            ("assistant", "Marco", "[audio]"),
            ("assistant", "Anna", "Odio il pesce"),
            ("user", "Anna", "[file: menu.pdf]"),
        ]
        again = import_path(opened, path, user_id="anna")
        assert (again.turns_added, again.problems) == (0, ())


def test_a_whole_export_of_telegram(tmp_path: Path) -> None:
    """The export of all chats brings each as a session; an empty one brings nothing."""
    chats = [
        telegram_chat(),
        telegram_chat(id=4712, name="Group", type="private_group"),
        telegram_chat(id=1, messages=[]),
    ]
    whole = {"about": "…", "personal_information": {"user_id": 1}, "chats": {"about": "…", "list": chats}}
    path = put(tmp_path, "result.json", json.dumps(whole))
    assert detect(path) == "telegram"
    with memory() as opened:
        report = import_path(opened, path, user_id="anna")
        assert (report.sessions_added, report.problems) == (2, ())


@pytest.mark.parametrize("written", ["", " \n", "Dear diary", '{"a": 1}', "[]"])
def test_an_unknown_or_empty_file_is_refused_with_the_known_formats(tmp_path: Path, written: str) -> None:
    """The refusal lists what can be read, and nothing is kept."""
    path = put(tmp_path, "notes.txt", written)
    with memory() as opened:
        report = import_path(opened, path, user_id="anna")
        assert report.turns_added == 0
        assert ("empty" in report.errors[0]) == (not written.strip())
        assert all(name in report.errors[0] for name in ("chatgpt", "whatsapp", "telegram", "open-webui", "ricordo"))
