"""The public surface: the names, their signatures, and how little an import brings with it."""

import ast
import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import ricordo


def test_the_public_names() -> None:
    """Nothing more and nothing less is public."""
    assert ricordo.__all__ == [
        "LLM",
        "Asked",
        "BudgetError",
        "BudgetSettings",
        "Chunk",
        "CleanupResult",
        "Completion",
        "CondensationSettings",
        "ConflictError",
        "Context",
        "Crisis",
        "DamageError",
        "EraseReceipt",
        "Fact",
        "Flag",
        "Hit",
        "Hits",
        "ImportResult",
        "LLMError",
        "Locale",
        "Memory",
        "Message",
        "NotFoundError",
        "OpenTurn",
        "Pending",
        "Profile",
        "ProfileSettings",
        "RecallSettings",
        "Receipt",
        "ReceiptError",
        "ReceiptItem",
        "Remembered",
        "Repair",
        "Resolved",
        "Retention",
        "RicordoError",
        "SafetySettings",
        "SchemaError",
        "Session",
        "SessionEnd",
        "SessionInfo",
        "SessionTopic",
        "Settings",
        "SettingsError",
        "Source",
        "Stats",
        "StoreError",
        "StoreUnavailable",
        "Summary",
        "Topic",
        "TopicSettings",
        "TopicStats",
        "Turn",
        "ValidationError",
        "Verification",
        "Window",
        "WindowSettings",
        "__version__",
        "enhance_prompt",
        "extract_base_prompt",
        "has_memory_context",
        "open",
    ]
    assert all(hasattr(ricordo, name) for name in ricordo.__all__)
    assert ricordo.__version__ == version("ricordo")


def test_every_error_is_a_ricordo_error() -> None:
    """One base class catches everything that is raised on purpose."""
    errors = [
        value
        for name in ricordo.__all__
        if name.endswith(("Error", "Unavailable")) and (value := getattr(ricordo, name))
    ]
    assert len(errors) == 12
    assert all(issubclass(error, ricordo.RicordoError) for error in errors)
    assert not issubclass(ricordo.RicordoError, OSError | ValueError | LookupError)


SIGNATURES = {
    ricordo.open: ["url_or_path=None", "**settings"],
    ricordo.Memory.session: ["session_id=None", "*user_id", "*agent_id='default'", "*project=None"],
    ricordo.Memory.resume: ["session_id", "*user_id", "*agent_id='default'", "*project=None"],
    ricordo.Memory.sessions: [
        "*user_id", "*limit=None", "*agent_id=None", "*before=None", "*project=None", "*counts=False",
    ],
    ricordo.Memory.delete_session: ["session_id", "*user_id"],
    ricordo.Memory.erase: ["user_id"],
    ricordo.Memory.cleanup: ["*retention=None", "*progress=None"],
    ricordo.Memory.stats: [],
    ricordo.Memory.backup: ["path", "progress=None"],
    ricordo.Memory.verify: ["progress=None"],
    ricordo.Memory.export: ["user_id", "*project=None"],
    ricordo.Memory.import_documents: ["documents", "*user_id=None", "*progress=None", "*project=None"],
    ricordo.Memory.search: [
        "query", "*user_id", "*limit=10", "*session_id=None", "*agent_id=None", "*topic_id=None", "*role=None",
        "*after=None", "*before=None", "*tags=()", "*project=None", "*relevant=False", "*patience=120.0",
    ],
    ricordo.Memory.embed_again: ["*progress=None"],
    ricordo.Memory.settle: ["timeout=None"],
    ricordo.Memory.settle_facts: ["user_id", "timeout"],
    ricordo.Memory.profile: ["user_id", "agent_id='default'", "*project=None"],
    ricordo.Memory.enhance_prompt: ["base", "*user_id", "*agent_id='default'", "*safety_rules=None", "*project=None"],
    ricordo.Memory.facts: ["user_id", "agent_id='default'", "*at=None", "*superseded=False", "*project=None"],
    ricordo.Memory.write_fact: ["text", "*user_id", "*agent_id='default'", "*kind=''", "*replaces=''"],
    ricordo.Memory.forget_fact: ["fact_id", "*user_id", "*agent_id='default'"],
    ricordo.Memory.flags: ["user_id", "*state=None", "*limit=1000"],
    ricordo.Memory.set_flag: ["flag_id", "state", "*user_id"],
    ricordo.Memory.end_idle: ["*user_id=None"],
    ricordo.Memory.close: [],
    ricordo.Session.add_turn: [
        "query", "response", "*chunk_ids=()", "*metadata=None", "*created_at=None", "*turn_id=None",
        "*turn_number=None", "*importance=None", "*receipt=None",
    ],
    ricordo.Session.ask: [
        "query", "*metadata=None", "*created_at=None", "*turn_id=None", "*importance=None", "*receipt=None",
    ],
    ricordo.OpenTurn.answer: ["response", "*chunk_ids=()", "*metadata=None", "*created_at=None", "*receipt=None"],
    ricordo.Session.answer: [
        "turn", "response", "*chunk_ids=()", "*metadata=None", "*created_at=None", "*receipt=None",
    ],
    ricordo.Session.add_message: [
        "role", "content", "*created_at=None", "*chunk_ids=()", "*metadata=None", "*tool_calls=()",
        "*tool_call_id=None", "*name=None",
    ],
    ricordo.Session.context: [
        "question", "*chunks=()", "*budget=None", "*standalone=''", "*system=None", "*safety=None", "*profile=''",
        "*summary=''", "*recalled=()", "*format_instructions=None",
    ],
    ricordo.Session.history: ["limit=None", "*before=None"],
    ricordo.Session.window: [],
    ricordo.Session.topics: [],
    ricordo.Session.topic: ["topic_id=None"],
    ricordo.Session.receipts: ["limit=50"],
    ricordo.Session.rebuild: ["turn_number"],
    ricordo.Session.info: [],
    ricordo.Session.update: ["*title=None", "*document_ids=None", "*tags=None", "*metadata=None", "*project=None"],
    ricordo.Session.end: [],
    ricordo.Session.condense: [],
    ricordo.Session.summaries: ["limit=50"],
    ricordo.Session.forget_derived: [],
    ricordo.Session.clear: [],
    ricordo.Session.export: ["form='json'"],
}  # fmt: skip


def spelled(function: object) -> list[str]:
    """A signature in short: a star for keyword-only, the default where there is one."""
    result = []
    for parameter in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        star = {"KEYWORD_ONLY": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        if parameter.name != "self":
            result.append(f"{star}{parameter.name}{default}")
    return result


@pytest.mark.parametrize(
    ("function", "parameters"), SIGNATURES.items(), ids=lambda value: getattr(value, "__qualname__", "")
)
def test_the_signatures_that_programs_rely_on(function: object, parameters: list[str]) -> None:
    """Each verb takes these arguments, by position or by keyword only, with these defaults."""
    assert spelled(function) == parameters


def test_every_public_callable_is_documented() -> None:
    """Every public class, method and property says what it does."""
    for name in ricordo.__all__:
        value = getattr(ricordo, name)
        if inspect.isclass(value) and value.__module__.startswith("ricordo"):
            assert value.__doc__, name
            for inner, member in vars(value).items():
                if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    assert member.__doc__, f"{name}.{inner}"


def test_results_have_the_names_that_programs_rely_on() -> None:
    """Session, turn, window, context and receipt carry the attributes that are part of the contract."""
    with ricordo.open("memory:") as memory:
        session = memory.session(user_id="anna")
        turn = session.add_turn("Domanda?", "Risposta.")
        context = session.context("E poi?")
        assert isinstance(session.id, str)
        assert (turn.turn_number, turn.query, turn.response) == (1, "Domanda?", "Risposta.")
        assert session.window().total_tokens > 0
        assert context.receipt.total_tokens > 0
        named = ["messages", "prompt", "question", "references", "receipt", "clarification", "crisis", "topic"]
        assert list(context.__slots__) == named
        assert session.add_message(role="user", content="Ciao").id


HEAVY = ["fastapi", "starlette", "uvicorn", "aiohttp", "flask", "django", "httpx", "requests", "numpy", "onnxruntime"]
HEAVY += [
    "psycopg",
    "psycopg_pool",
    "sqlite3",
    "rich",
    "pydantic",
    "splintr",
    "hypothesis",
    "pytest",
    "asyncio",
    "zstandard",
]


LAZY = ["engine", "followups", "people", "prompt", "recall", "recall/embedders", "safety", "stores/archive", "topics"]


@pytest.mark.parametrize("room", LAZY)
def test_a_room_that_is_loaded_later_imports_nothing_with_its_name(room: str) -> None:
    """The `__init__` of a room imports nothing from inside: a caller and the worker may load two modules of it at once.

    Each would hold the lock of its own module and wait for the package, which imports the other: Python breaks such a
    deadlock by giving one of them a module that is half loaded.
    """
    source = Path(ricordo.__file__).parent / room / "__init__.py"
    inside = f"ricordo.{room.replace('/', '.')}"
    found = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in found if (node.module or "").startswith(inside)] == []


def test_an_import_brings_no_framework_and_no_driver() -> None:
    """`import ricordo` loads no web framework, database driver, tokenizer or array library."""
    code = f"import ricordo, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
