"""The hand-labelled cases, and the benchmark that measures them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.followups import Case, everyday, is_right, load_cases, main, run
from followup_samples import CASES

from ricordo.followups.resolve import resolve


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    """The labelled cases of the repository."""
    return load_cases(CASES)


def share_right(cases: list[Case]) -> float:
    """The share of cases bound to what their label says."""
    return sum(is_right(case, resolve(case.question, case.history)) for case in cases) / len(cases)


def test_the_cases_cover_both_languages_and_every_kind(cases: tuple[Case, ...]) -> None:
    """At least ten cases of every kind in each language, and a hundred complete questions in each."""
    counted = Counter((case.lang, case.kind) for case in cases)
    kinds = ("statement", "comparison", "ordinal", "back", "continuation", "pronoun", "ellipsis")
    assert all(counted[lang, kind] >= 10 for lang in ("it", "en") for kind in kinds)
    assert all(counted[lang, "none"] >= 100 for lang in ("it", "en"))
    assert len({(case.question, case.history) for case in cases}) == len(cases)


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("kind", ["ordinal", "continuation"])
def test_ordinals_and_continuations_are_resolved(cases: tuple[Case, ...], kind: str, lang: str) -> None:
    """At least 95 % are bound to the right turn and to all and only the right items."""
    assert share_right([case for case in cases if (case.kind, case.lang) == (kind, lang)]) >= 0.95


@pytest.mark.parametrize("kind", ["statement", "comparison", "back", "pronoun", "ellipsis"])
def test_the_other_kinds_are_mostly_resolved(cases: tuple[Case, ...], kind: str) -> None:
    """At least 90 % find the right turn and topic."""
    assert share_right([case for case in cases if case.kind == kind]) >= 0.90


@pytest.mark.parametrize("unseen", [True, False])
def test_complete_questions_are_left_alone(cases: tuple[Case, ...], unseen: bool) -> None:
    """At most 2 % of the self-contained questions are touched, also of those kept aside."""
    assert share_right([case for case in cases if case.kind == "none" and case.unseen == unseen]) >= 0.98


def test_the_benchmark_counts_recovered_words(tmp_path: Path) -> None:
    """Recall, precision and untouched shares are what the rows say."""
    rows = [
        {"id": "1_1", "history": [], "question": "What is throat cancer?", "rewrite": "What is throat cancer?"},
        {"id": "1_2", "history": ["What is throat cancer?"], "question": "Is it curable?",
         "rewrite": "Is throat cancer curable?"},
        {"id": "1_3", "history": ["What is throat cancer?"], "question": "Tell me about lupus",
         "rewrite": "Tell me about lupus."},
    ]  # fmt: skip
    (tmp_path / "rewrite").mkdir()
    (tmp_path / "rewrite" / "tiny.jsonl").write_text("\n".join(map(json.dumps, rows)))
    figures = {row.method: row for row in run(tmp_path).rewrites}
    assert (figures["rules"].recall, figures["rules"].precision, figures["rules"].untouched) == (1, 1, 1)
    assert (figures["raw question"].recall, figures["raw question"].untouched) == (0, 1)
    assert (figures["first question"].recall, figures["first question"].precision) == (1, 0.5)
    assert figures["first question"].untouched == 0


def test_the_benchmark_prints_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the kinds, and as JSON everything it measured."""
    (tmp_path / "rewrite").mkdir()
    assert main(["--data", str(tmp_path), "--cases", str(CASES)]) == 0
    assert "ordinal" in capsys.readouterr().out
    assert main(["--data", str(tmp_path), "--cases", str(tmp_path / "none.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["confusion"] == []


def test_everyday_cases_are_counted_by_part(tmp_path: Path) -> None:
    """The untouched third is counted apart, and a case is right when its words are there and the forbidden are not."""
    talk = [{"q": "What is the tallest tower in Chile?", "a": "The Gran Torre."}]
    rows = [
        {"id": "a", "kind": "substitution", "history": talk, "question": "And in Peru?", "must": [["Peru"], ["tower"]],
         "forbid": ["Chile"]},
        {"id": "b", "kind": "leave", "history": talk, "question": "Thanks, got it!", "must": [], "same": True},
        {"id": "c", "kind": "ambiguous", "history": talk, "question": "And in Peru?", "must": [], "ask": True},
    ]  # fmt: skip
    path = tmp_path / "everyday.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    counted = everyday([path])
    everything = {kind: pair for part in counted.values() for kind, pair in part.items()}
    assert everything == {"substitution": (1, 1), "leave alone": (1, 1), "ask back": (0, 1)}
