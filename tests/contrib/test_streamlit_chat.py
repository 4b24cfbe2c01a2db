"""The Streamlit chat, driven with Streamlit's own AppTest on the shipped example."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed: scripts/test-integrations")

from streamlit.testing.v1 import AppTest

import ricordo

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
APP = Path(__file__).parents[2] / "examples" / "streamlit_app.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("RICORDO_URL", str(tmp_path / "chat.db"))
    return tmp_path / "chat.db"


def opened(session: str | None = None, user: str = "ada") -> AppTest:
    """The page as a browser opens it, in a new tab."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    if session:
        app.query_params["session"] = session
    app.run()
    if user != "ada":
        app.sidebar.text_input[0].set_value(user).run()
    assert not app.exception
    return app


def ask(app: AppTest, words: str) -> AppTest:
    app.chat_input[0].set_value(words).run()
    assert not app.exception
    return app


def said(app: AppTest) -> list[tuple[str, str]]:
    return [(message.name, message.markdown[0].value) for message in app.chat_message if message.markdown]


def button(app: AppTest, key: str) -> Any:
    return next(each for each in app.sidebar.button if each.key.startswith(key))


def session_of(app: AppTest) -> str:
    value = app.query_params["session"]
    return value if isinstance(value, str) else value[0]


def test_the_example_is_short() -> None:
    """A chat with sessions, search of the past and export takes less than a hundred lines of an application."""
    assert len(APP.read_text().splitlines()) < 100


def test_what_is_asked_is_answered_and_kept(place: Path) -> None:
    """Question and answer are on the page, both in the memory, and the next answer knows the first question."""
    app = ask(opened(), "Mi piace il tè")
    ask(app, "Che cosa mi piace?")
    assert [name for name, _ in said(app)] == ["user", "assistant", "user", "assistant"]
    assert "Mi piace il tè" in said(app)[3][1]
    with ricordo.open(place) as memory:
        turns = memory.session(session_of(app), user_id="ada").history()
        assert [turn.query for turn in turns] == ["Mi piace il tè", "Che cosa mi piace?"]
        assert all(turn.response for turn in turns)
        assert len(memory.session(session_of(app), user_id="ada").receipts()) == 2


def test_a_reload_shows_the_whole_conversation(place: Path) -> None:
    """The same address in a new tab shows both sides of the conversation as they were."""
    app = ask(opened(), "ciao")
    assert said(opened(session_of(app))) == said(app)


def test_a_question_left_without_an_answer_is_answered_on_the_next_visit(place: Path) -> None:
    """If the page was closed while it answered, the question is there and is answered when it is opened again."""
    with ricordo.open(place) as memory:
        memory.session("s", user_id="ada").ask("ci sei?")
    app = opened("s")
    assert [name for name, _ in said(app)] == ["user", "assistant"]


def test_the_sidebar_changes_sessions(place: Path) -> None:
    """A new conversation is empty, and the old one is there when it is chosen again."""
    app = ask(opened(), "prima")
    first = session_of(app)
    button(app, "ricordo_new").click().run()
    assert session_of(app) != first
    assert said(app) == []
    ask(app, "seconda")
    button(app, f"ricordo_open_{first}").click().run()
    assert said(app)[0] == ("user", "prima")
    assert sum(each.key.startswith("ricordo_open_") for each in app.sidebar.button) == 2


def test_a_session_can_be_deleted(place: Path) -> None:
    """A deleted conversation is gone from the page, the sidebar and the memory."""
    app = ask(opened(), "da dimenticare")
    button(app, "ricordo_delete").click().run()
    assert said(app) == []
    with ricordo.open(place) as memory:
        assert memory.sessions(user_id="ada") == []


def test_nobody_opens_a_session_of_another(place: Path) -> None:
    """With the address of another's conversation a user gets a new one, and another's are not in the sidebar."""
    theirs = session_of(ask(opened(), "segreto di Ada"))
    app = opened(theirs, user="bob")
    assert session_of(app) != theirs
    assert said(app) == []
    assert not any(each.key.startswith("ricordo_open_") for each in app.sidebar.button)


@pytest.mark.parametrize(("words", "problem"), [("x" * 2_000_000, "larger than"), ("a\x00b", "NUL")])
def test_a_question_that_cannot_be_kept_is_told_on_the_page(place: Path, words: str, problem: str) -> None:
    """What is too long, or holds what no store takes, is a sentence on the page, and the next question is answered."""
    app = ask(opened(), words)
    assert problem in app.error[0].value
    ask(app, "How deep is the sea?")
    assert not app.error
    assert [who for who, _ in said(app)] == ["user", "assistant"]


def test_an_answer_that_fails_does_not_lose_the_question(place: Path) -> None:
    """When the model fails, the page says so, keeps the question, and tries again when asked to."""

    def page() -> None:
        import os

        import ricordo
        from ricordo.contrib.streamlit_chat import chat

        def answer(context: object) -> str:
            if os.environ.get("BROKEN"):
                raise RuntimeError("away")
            return "eccomi"

        chat(ricordo.open(os.environ["RICORDO_URL"]), user_id="ada", answer=answer)

    app = AppTest.from_function(page, default_timeout=60)
    with pytest.MonkeyPatch.context() as broken:
        broken.setenv("BROKEN", "yes")
        ask(app.run(), "ci sei?")
        assert said(app) == [("user", "ci sei?")]
        assert app.error
        assert not app.chat_input[0].disabled
    next(each for each in app.button if each.key == "ricordo_again").click().run()
    assert said(app) == [("user", "ci sei?"), ("assistant", "eccomi")]
    assert not app.error
