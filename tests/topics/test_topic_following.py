"""What references mean for a message's topic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.followups.parse import parse
from ricordo.topics.assign import follow_up_kind


@given(st.text(max_size=200))
def test_without_references_a_message_stands_by_itself(text: str) -> None:
    """No reference, no follow-up, whatever the words."""
    assert follow_up_kind(text, ()) == "no"


@pytest.mark.parametrize(
    "text",
    ["Approfondisci il punto 2", "continua", "Quali sono i gradi?", "Which one is faster?", "Is it expensive?"],
)
def test_what_only_the_talk_explains_stays_in_it(text: str) -> None:
    """Places in a list, going on, ellipsis, comparison and a short question with a pronoun follow the talk."""
    assert follow_up_kind(text, parse(text)) == "talk"


@pytest.mark.parametrize(
    "text",
    [
        "Torniamo alla spondilolistesi: quando si opera?",
        "Back to Python: how do I sort it?",
        "You said that it was faster, why?",
    ],
)
def test_what_was_said_before_may_lie_in_an_older_topic(text: str) -> None:
    """Coming back and quoting point into the past, not only at the active topic."""
    assert follow_up_kind(text, parse(text)) == "past"


@pytest.mark.parametrize(
    "text",
    [
        "Quanto costa un biglietto del treno da Roma a Milano?",
        "My neighbour bought a new car last week and she told me that she likes it a lot.",
    ],
)
def test_a_complete_message_is_judged_by_its_words(text: str) -> None:
    """A message that explains itself is no follow-up, also when it has a pronoun somewhere."""
    assert follow_up_kind(text, parse(text)) == "no"
