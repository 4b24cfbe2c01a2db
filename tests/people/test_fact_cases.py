"""The labelled messages, and the benchmark that measures them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.facts import Case, figures, load_cases, main, supersession
from fact_samples import CASES, said

from ricordo.people.facts.patterns import claims_in_message
from ricordo.records.derived import FACT_KINDS

TALK = Path(__file__).parents[2] / "training/facts"


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    """The labelled cases of the repository."""
    return load_cases(CASES)


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_cases_cover_every_kind_and_as_much_that_is_no_fact(cases: tuple[Case, ...], lang: str) -> None:
    """At least 120 messages a language, every kind among them, and a third of them without any fact."""
    mine = [case for case in cases if case.lang == lang]
    kinds = Counter(label.kind for case in mine for label in case.facts)
    assert len({case.text for case in mine}) == len(mine) >= 120
    assert set(kinds) == set(FACT_KINDS)
    assert sum(not case.facts for case in mine) >= len(mine) / 3


@pytest.mark.parametrize("unseen", [True, False])
@pytest.mark.parametrize("lang", ["it", "en"])
def test_what_is_read_is_right(cases: tuple[Case, ...], lang: str, unseen: bool) -> None:
    """At least 94 % of the claims are right and 90 % are found, also in the cases kept aside."""
    measured = figures(lang, [case for case in cases if case.lang == lang and case.unseen == unseen])
    assert measured.precision >= 0.94
    assert measured.recall >= 0.90


@pytest.mark.parametrize("order", ["in order", "out of order"])
def test_the_newest_is_always_served_first(order: str) -> None:
    """The last word of a changed mind is known, whatever order the words arrive in."""
    measured = supersession(order, talks=150, seed=7)
    assert (measured.newest_known, measured.older_still_known, measured.overlapping) == (150, 0, 0)


def test_the_benchmark_tells_what_it_measured(
    cases: tuple[Case, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` prints what was measured of a file of cases, right claims counted as they are on their own."""
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(CASES.read_text(encoding="utf-8").splitlines()[::12]), encoding="utf-8")
    for name in ("talk_en_1.jsonl", "talk_it_1.jsonl"):
        rows = (TALK / name).read_text(encoding="utf-8").splitlines()[:30]
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    assert main(["--cases", str(few), "--talks", "5", "--talk", str(tmp_path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    chosen = load_cases(few)
    assert 10 < len(chosen) < len(cases) / 10
    for told in printed["cases"]:
        measured = figures(told["lang"], [case for case in chosen if case.lang == told["lang"]])
        assert (told["right"], told["cases"]) == (measured.right, measured.cases)
    assert [each["talks"] for each in printed["supersession"]] == [5, 5]


def test_the_benchmark_says_where_cases_are_missing(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file of cases it names the file and the option."""
    assert main(["--cases", f"{tmp_path}/none.jsonl"]) == 1
    assert "--cases" in capsys.readouterr().out


@pytest.mark.parametrize("lang", ["it", "en"])
def test_no_word_of_a_crisis_is_a_fact(lang: str) -> None:
    """Also where nothing else stands before it, the reading of facts learns nothing from a cry for help."""
    path = CASES.with_name(f"crisis_{lang}.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    alarming = [row["text"] for row in rows if row["label"] != "quiet"]
    assert len(alarming) > 50
    assert [claim.text for text in alarming for claim in claims_in_message(said(text))] == []
