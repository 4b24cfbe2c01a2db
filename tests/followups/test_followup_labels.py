"""Items meant without the word for a place: bare labels, the rest, what an item says."""

import pytest
from followup_samples import NOON, any_text, talk
from hypothesis import given
from hypothesis import strategies as st

from ricordo.followups.clarify import answer
from ricordo.followups.parse import parse
from ricordo.followups.reference import ClarificationOption, PastTurn, Pending
from ricordo.followups.resolve import resolve
from ricordo.followups.rewrite import alternatives
from ricordo.languages.english import FOLLOWUPS as ENGLISH
from ricordo.languages.text import split_words

TOOLS = ("saw", "drill", "hammer", "chisel", "plane", "vice", "clamp", "file", "rasp")
GARDEN = talk(
    (
        "How do I keep slugs away from my garden?",
        "1. Spread copper tape around the bed\n2. Set beer traps at dusk\n3. Water in the morning\n4. Invite hedgehogs",
    )
)
ZAINO = talk(("Cosa devo portare in barca?", "Porta a) cerata pesante, b) scarpe bianche, c) cappello e d) guanti."))
HIKES = talk(("Recommend three hikes", "1. Zirbenweg: easy\n2. Goetheweg: exposed\n3. Rumer: steep"))
BREAD = talk(("Is it better to use a cast-iron pot or a pizza stone?", "The pot keeps the steam in."))


def bound(question: str, history: tuple[PastTurn, ...]) -> list[str]:
    """The first word of each item that a question was bound to."""
    return [r.item.text.split()[0].rstrip(",.") for r in resolve(question, history).resolved if r.item is not None]


@given(
    st.integers(min_value=2, max_value=9),
    st.data(),
    st.sampled_from([(j, r) for j in (" and ", " or ", ", ", " & ") for r in ("{}", "{} please", "more on {}")]),
)
def test_labels_said_alone_are_exactly_those_items(size: int, data: st.DataObject, wording: tuple[str, str]) -> None:
    """However labels are joined and asked for, all and only the items of the list that bear them are meant."""
    places = data.draw(st.lists(st.integers(1, size), min_size=2, max_size=4, unique=True))
    answer_text = "\n".join(f"{n}. {tool}" for n, tool in enumerate(TOOLS[:size], start=1))
    history = talk(("Which tools do I need?", answer_text))
    joiner, request = wording
    question = request.format(joiner.join(map(str, places)))
    assert bound(question, history) == [TOOLS[place - 1] for place in places]


@given(any_text)
def test_labels_are_only_those_of_the_list(question: str) -> None:
    """For every text, labels add no place that the list does not have, and each span is the text it came from."""
    alone = parse(question)
    for reference in parse(question, labels=frozenset({"1", "2", "a", "b", "i"})):
        assert question[reference.start : reference.end] == reference.text
        known = reference in alone or (reference.pick is not None and set(reference.pick.positions) <= {1, 2})
        assert known or reference.kind == "comparison"


@pytest.mark.parametrize(
    ("question", "history", "items"),
    [
        ("la a e la d", ZAINO, ["cerata", "guanti"]),
        ("Di che taglia prendo la b?", ZAINO, ["scarpe"]),
        ("L'ultimo a cosa serve?", ZAINO, ["guanti"]),
        ("Forget the first, what about the rest?", GARDEN, ["Set", "Water", "Invite"]),
        ("Are both of the last two cheap?", GARDEN, ["Water", "Invite"]),
        ("the one about beer", GARDEN, ["Set"]),
        ("tell me about the copper tape one", GARDEN, ["Spread"]),
        ("Can you compare them?", GARDEN, ["Spread", "Set", "Water", "Invite"]),
        ("Is the middle one ok with kids?", HIKES, ["Goetheweg:"]),
        ("quella di mezzo è fattibile coi bambini?", HIKES, ["Goetheweg:"]),
        ("When does the snow melt on no. 3?", HIKES, ["Rumer:"]),
        ("How long is hike three?", HIKES, ["Rumer:"]),
    ],
)
def test_items_are_meant_in_many_ways(question: str, history: tuple[PastTurn, ...], items: list[str]) -> None:
    """Letters, interrogative complements, rests, partitives, descriptions and plural pronouns find their items."""
    assert bound(question, history) == items


@pytest.mark.parametrize(
    ("question", "history"),
    [
        ("What is 2 and 2?", GARDEN),
        ("Was the middle class growing in 1900?", HIKES),
        ("Qual è il mezzo più veloce per Parigi?", HIKES),
        ("Sono le 3 e 4", GARDEN),
        ("Is vitamin b good for hair?", ZAINO),
        ("Quando si usa la d eufonica?", ZAINO),
        ("Il 4 luglio cosa si festeggia?", GARDEN),
        ("Where is the rest of the Parthenon?", GARDEN),
        ("The one about the whale is by Melville", GARDEN),
        ("You said hello to my dog", GARDEN),
        ("Parlavi di calcio con tuo zio", ZAINO),
        ("Quali sono i sintomi dell'influenza?", ZAINO),
        ("Come prima cosa, che ore sono a Tokyo?", ZAINO),
        ("La birra scura pesa più di quella chiara?", ZAINO),
        ("Chi la ha dipinta la Gioconda?", ZAINO),
        ("Who painted it, the Mona Lisa?", GARDEN),
        ("It is often said that bats are blind", GARDEN),
    ],
)
def test_look_alikes_are_left_alone(question: str, history: tuple[PastTurn, ...]) -> None:
    """Numbers, letters, rests and pronouns with a meaning of their own leave the question as it was."""
    resolution = resolve(question, history)
    assert (resolution.references, resolution.standalone) == ((), question)


def test_the_rest_leaves_out_the_item_last_talked_about() -> None:
    """ "The other three" after a question about one item named by its words are all but that one."""
    history = (*GARDEN, PastTurn(2, "Where do I set beer traps at dusk?", "Near the lettuce."))
    assert bound("And the other three?", history) == ["Spread", "Water", "Invite"]


def test_a_clitic_agrees_with_its_noun() -> None:
    """ "L'ha inventata" is the battery, not the man who is the topic; "l'ha ispirato" is the man."""
    history = talk(("Chi era Alessandro Volta?", "Un fisico di Como."), ("Quando ha inventato la pila?", "Nel 1799."))
    assert resolve("Perché l'ha inventata?", history).additions[0].text == "pila"
    assert resolve("Chi l'ha ispirato?", history).additions[0].text == "Alessandro Volta"


def test_a_pronoun_takes_its_article_along_and_is_kept_after_a_list() -> None:
    """The phrase in place of "it" keeps its article; after a list "it" may be an item, so nothing is replaced."""
    history = talk(("Where does the Calvin cycle take place?", "In the stroma."))
    assert resolve("Why does it matter?", history).standalone == "Why does the Calvin cycle matter?"
    assert resolve("Does it work?", GARDEN).standalone.startswith("Does it work (")


def test_a_verb_names_no_topic() -> None:
    """ "Cosa devo portare in barca?" is about the boat; a part that replaces none takes the question over."""
    assert resolve("Quali sono i rischi?", ZAINO).additions[0].text == "barca"
    assert resolve("E per i bambini?", ZAINO).standalone == "E per i bambini (portare in barca)?"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("I mean the train", "answered"),
        ("Intendo il train", "answered"),
        ("palne", "answered"),
        ("1 and 2", "answered"),
        ("How long does the train take?", "cancelled"),
        ("Book a train seat for Monday morning", "cancelled"),
    ],
)
def test_an_option_is_told_by_its_own_words(message: str, kind: str) -> None:
    """A short statement with the words of one option answers; a question or a request of its own cancels."""
    pending = Pending(
        "How much is it?", (ClarificationOption("train", 1), ClarificationOption("plane to Paris", 1)), "en", NOON
    )
    assert answer(pending, message, now=NOON).kind == kind


def test_the_sides_of_a_choice_are_cut_at_their_ends() -> None:
    """A hyphen holds a name together, and what is asked of both sides belongs to neither."""
    assert alternatives(split_words(BREAD[0].query), ENGLISH) == ("cast-iron pot", "pizza stone")
    assert alternatives(split_words("Is sourdough or focaccia easier?"), ENGLISH) == ("sourdough", "focaccia")
    assert resolve("The latter sounds better", BREAD).additions[0].text == "pizza stone"
