"""The benchmark of documents and reader, on the sample course."""

import json

import pytest
from bench.answers import main, questions, run

from ricordo.cli.story import lessons


def test_the_course_is_complete() -> None:
    """Six lessons, half of them Italian, each with a title and sections."""
    assert [lesson.language for lesson in lessons()] == ["it"] * 3 + ["en"] * 3
    assert all(
        lesson.text.startswith(f"# {lesson.title}\n") and lesson.text.count("\n## ") >= 4 for lesson in lessons()
    )
    assert lessons("it") == lessons()[:3]


def test_every_label_is_in_its_lesson() -> None:
    """What an answer must say stands in the lesson that is named; there are enough questions of every sort."""
    texts = {lesson.id: lesson.text for lesson in lessons()}
    asked = questions()
    assert all(says in texts[question.lesson] for question in asked for says in question.says)
    assert len(asked) >= 40
    assert sum(not question.answerable for question in asked) >= 10
    assert {(question.language, question.unseen) for question in asked} == {
        (language, unseen) for language in ("it", "en") for unseen in (True, False)
    }


def test_the_figures_are_held() -> None:
    """Nearly every question is answered from the right passage, and nearly every foreign one is refused."""
    report, outcomes = run()
    everything = report.figures[0]
    assert len(outcomes) == len(questions())
    assert everything.found_among >= 0.95
    assert everything.answered >= 0.9
    assert everything.refused >= 0.85
    assert report.confidence_absent < report.confidence_wrong < report.confidence_right


def test_the_report_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a table, and with --json one object."""
    assert main(["--embedder", "light", "--wrong"]) == 0
    assert "unseen" in capsys.readouterr().out
    assert main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["retrieval"] == "words alone"
