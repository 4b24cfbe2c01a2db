"""What a message does and asks: its dialogue act, the kind of its question, its subject words, the wanted answer.

Pure. The act (small talk, a command, a statement, a claim, a question) and the kind (definition, list, reason…) follow
from the phrasing, by rules of all languages on the folded message; whether a message without a question mark asks or
tells, from such a rule and small networks over its words. Words that only phrase the question ("spiegami", "what is the
difference") are separated from subject words, because answers repeat only the latter.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Literal

from ricordo.followups.parse import FORGET_LAST, small_talk
from ricordo.languages.registry import AnyLanguage, all_words, codes, language, languages
from ricordo.languages.text import as_told, familiar, fold, guess_language, in_full, sentences
from ricordo.limits import readable
from ricordo.people.facts import judge
from ricordo.recall.evidence import snowball_stem, tokens

if TYPE_CHECKING:
    from ricordo.languages.base import Language

# An introduction before a comma: "hello, I am Anna, what is…".
_INTRODUCTION = AnyLanguage(r"\W*(?:<questions.introductions>)\b", flags=0)
_COMMA = re.compile(r"\s*[,;:–—]\s+")
CLAUSES = re.compile(r"[.,;:!?\n]\s*\w|\s[-–—]\s")  # a message of one clause states nothing beside its question
# Questions that only ask for confirmation or help.
_TAG = AnyLanguage(r"\W*(?:<questions.tags>)\W*", flags=0)
# A request without a question mark.
_REQUEST = AnyLanguage(r"\W*(?:(?:<questions.politeness>),? )?(?:<questions.requests>)\b", flags=0)


def folded(text: str) -> str:
    """A text as the rules read it."""
    return fold(text.replace("’", "'")).strip()


def split_question(message: str) -> tuple[str, str]:
    """The question in a message and the rest; the whole message if it has no separate rest.

    Of a long message the beginning and the end are read.
    """
    message = readable(message)
    said = [part for start, end in sentences(message, chat=True) for part in _clauses(message[start:end])]
    asking = [part for part in said if _asks(part)]
    if not asking or len(asking) == len(said):
        return message, ""
    return " ".join(asking), " ".join(part for part in said if part not in asking)


def _asks(part: str) -> bool:
    plain = folded(part)
    if part.rstrip("\"»”') ").endswith("?"):
        return not _TAG.fullmatch(plain)
    return _REQUEST.match(plain) is not None


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that starts with an introduction ("hello, I am Anna, what is…"); else one."""
    rest, before = sentence, []
    while _INTRODUCTION.match(folded(rest)) and (comma := _COMMA.search(rest)) and rest[comma.end() :]:
        before.append(rest[: comma.start()])
        rest = rest[comma.end() :]
    return [*before, rest]


QuestionKind = Literal[
    "comparison", "list", "reason", "quantity", "place", "person",
    "time", "definition", "procedure", "explanation", "open",
]  # fmt: skip

# Tried in this order on the folded question; the first match decides.
_KINDS: tuple[tuple[QuestionKind, AnyLanguage], ...] = (
    ("comparison", AnyLanguage(r"\b(?:<questions.kinds:comparison>)\b", flags=0)),
    ("quantity", AnyLanguage(r"\b(?:<questions.kinds:quantity>)\b", flags=0)),
    ("list", AnyLanguage(r"\b(?:<questions.kinds:list>)\b", flags=0)),
    ("reason", AnyLanguage(r"\b(?:<questions.kinds:reason>)\b", flags=0)),
    ("person", AnyLanguage(r"^\W*(?:<questions.kinds:person>)\b", flags=0)),
    ("place", AnyLanguage(r"\b(?:<questions.kinds:place>)\b", flags=0)),
    ("time", AnyLanguage(r"\b(?:<questions.kinds:time>)\b", flags=0)),
    ("procedure", AnyLanguage(r"\b(?:<questions.kinds:procedure>)\b", flags=0)),
    ("definition", AnyLanguage(r"\b(?:<questions.kinds:definition>)\b", flags=0)),
    ("explanation", AnyLanguage(r"\b(?:<questions.kinds:explanation>)\b", flags=0)),
)
_PLURAL_DEFINITION = AnyLanguage(r"^\W*(?:<questions.plural_definitions>)\W*$", flags=0)
_DEGREE = AnyLanguage(r"(?:<questions.degrees>)\b")
_LIGHT_WORTH = 0.25
_BESIDE = 0.1  # weight of a word outside the question
_MOST_WORDS = 64  # words read of a question


@dataclass(frozen=True, slots=True)
class SubjectWord:
    """A subject word with its possible stems; `worth` is its weight, lower for common verbs.

    A word `beside` the question counts if the material has it, and is ignored if not.
    """

    word: str
    stems: frozenset[str]
    worth: float = 1.0
    beside: bool = False


def kind_of_question(question: str) -> QuestionKind:
    """The kind of a question; "open" if no rule matches."""
    plain = folded(split_question(question)[0])
    if _PLURAL_DEFINITION.match(plain):
        return "definition"
    return next((kind for kind, pattern in _KINDS if pattern.search(plain)), "open")


def subject_words(question: str) -> tuple[SubjectWord, ...]:
    """The distinct subject words of a question, in order; empty for "spiegami" or "perché?".

    Words outside the question follow with a lower weight, unless the question has no subject of its own.
    """
    asked, beside = split_question(question)
    found = _subject(asked)
    if kind_of_question(question) == "list" and (clause := _RELATIVE.search(asked)):
        head = _subject(asked[: clause.start()])
        if len(head) >= _HEAD_WORDS:  # "the warning signs that…": the noun says which list
            beside, found = f"{asked[clause.start() :]} {beside}", head
    share = _BESIDE if any(word.worth == 1.0 for word in found.values()) else 1.0
    for variants, word in _subject(beside).items():
        found.setdefault(variants, replace(word, worth=share * word.worth, beside=True))
    return tuple(found.values())[:_MOST_WORDS]


def _subject(text: str) -> dict[frozenset[str], SubjectWord]:
    small = language(guess_language(text)).vocabulary.stop_words
    asking, light = all_words("questions.asking_words"), all_words("questions.light_verbs")
    found: dict[frozenset[str], SubjectWord] = {}
    for word in tokens(_DEGREE.sub("", text)):
        if word in small or word in asking:
            continue
        variants = frozenset(snowball_stem(word, code) for code in codes())
        found.setdefault(variants, SubjectWord(word, variants, _LIGHT_WORTH if word in light else 1.0))
    return found


Act = Literal[
    "greeting", "thanks", "okay", "farewell", "feeling", "gladness", "hijack",
    "remember", "forget", "forget_all", "end_wish", "standing", "wishes",
    "repeat", "origin", "certainty", "no_translation", "no_other_words",
    "claim", "own_claim", "talk", "about_me", "about_you", "documents", "question", "statement",
]  # fmt: skip
FEELINGS: frozenset[Act] = frozenset(("feeling", "gladness"))
SMALL_TALK: frozenset[Act] = frozenset(("greeting", "thanks", "okay", "farewell", *FEELINGS))
COMMANDS: frozenset[Act] = frozenset(("remember", "forget", "forget_all", "end_wish", "standing"))
LAST_ANSWER: frozenset[Act] = frozenset(("repeat", "origin", "certainty", "no_translation", "no_other_words"))
_WHOLE: tuple[Act, ...] = ("hijack", "forget_all", "wishes", *sorted(FEELINGS | LAST_ANSWER))
TOLD: frozenset[Act] = SMALL_TALK | COMMANDS | LAST_ANSWER | {"statement"}  # messages that ask the past for nothing
UNTAUGHT: frozenset[Act] = LAST_ANSWER | {"hijack", "forget", "forget_all", "end_wish", "wishes"}  # nothing to learn
STATED: frozenset[Act] = frozenset(("remember", "standing", "statement", *FEELINGS))  # what was said then is a source

_ASKING = AnyLanguage(r"\W*(?:<dialogue.question_openings>)", flags=0)
_ASKING_CLAUSE = AnyLanguage(r"(?:[,;:.!\n]|\s[-–—])\s*(?:<dialogue.asking_clauses>)[^,;:.!\n]*[.\s]*$", flags=0)
_TELLING = AnyLanguage(r"\W*(?:<dialogue.statement_openings>)", flags=0)
WH = AnyLanguage(r"\b(?:<dialogue.wh_words>)\b", flags=0)
_TELL = AnyLanguage(r"\W*(?:<dialogue.tell_me>)\b", flags=0)
_REMEMBER = AnyLanguage(r"\W*(?:<dialogue.remember>)", flags=0)
_FORGET = AnyLanguage(r"\W*(?:<dialogue.forget>)", flags=0)
_STANDING = AnyLanguage(r"\W*(?:<dialogue.standing>)[:,]?\s*", flags=0)
_OPENER = AnyLanguage(r"\b(?:<facts.standing_openers>)\b[:,]?\s*")
_YOU_SAID = AnyLanguage(r"\b(?:<dialogue.assistant_said>)\b", flags=0)
_THIRD = AnyLanguage(r"\b(?:<dialogue.said_third>)\b", flags=0)
_NO_SUBJECT = AnyLanguage(r"\W*(?:(?:<dialogue.said_leads>)\b[\s,.!?]*)*", flags=0)
_SUBJECT_BEHIND = AnyLanguage(r"(?:<dialogue.said_behind>)", flags=0)
STOPS = AnyLanguage(r"\W*(?:<dialogue.stops>)", flags=0)
_LONGEST_WHOLE, _FARTHEST_CLAIM = 240, 40  # letters of a whole act, and before "you said"
_SUBORDINATE = AnyLanguage(r"\W*(?:<dialogue.subordinate>)", flags=0)
_THAT = AnyLanguage(r"\b(?:<dialogue.remember_that>)\W*$", flags=0)
_WHOLE_ACTS = {act: AnyLanguage(rf"\W*(?:<dialogue.whole:{act}>)\W*", flags=0) for act in _WHOLE}
_I_SAID = AnyLanguage(r"\b(?:<dialogue.user_said>)\b", flags=0)
_TALK = AnyLanguage(r"\b(?:<dialogue.talk>)\b", flags=0)
_ENDS = AnyLanguage(
    r"\b(?:<dialogue.wanted:first_said>|<dialogue.wanted:last_said>)|^\W*(?:<dialogue.how_often>|<dialogue.ever>)",
    flags=0,
)
_ABOUT_YOU = AnyLanguage(r"\W*(?:<dialogue.about_you>)\W*", flags=0)
_DOCUMENTS = AnyLanguage(r"\W*(?:<dialogue.wanted:documents>)\W*", flags=0)
_SUMMARY = AnyLanguage(r"\b(?:<dialogue.wanted:summary>)\b", flags=0)
_DOCUMENT = AnyLanguage(r"\b(?:<dialogue.wanted:document>)\b", flags=0)
_OF_TALK = AnyLanguage(r"\b(?:<dialogue.wanted:of_talk>)\b", flags=0)
_RELATIVE = AnyLanguage(r"\s(?:<dialogue.wanted:relative>)\s", flags=re.IGNORECASE)
_HEAD_WORDS = 2
_NAMED_FROM = 0.6  # share of a summary's subject that the title of a document needs
_ABOUT_ME = AnyLanguage(r"\b(?:<dialogue.about_me>)", flags=0)
_FORMED, _CLEAR = 1.0, 1.5  # logits: of the form of a question; from which on a message clearly asks or tells
FIRST_PERSON = AnyLanguage(r"\b(?:<dialogue.first_person>)\b", flags=0)


@dataclass(frozen=True, slots=True)
class DialogueAct:
    """What a message does. `content` is the message, or what a command wants kept or forgotten; empty: the last one.

    `unclear`: by its words a question may be a statement, or the other way round; what memory holds decides.
    """

    act: Act
    content: str
    about_oneself: bool = False
    unclear: bool = False

    @property
    def only_asks(self) -> bool:
        """Whether it clearly asks in one clause, without a question mark: nothing can be learned from it."""
        one_clause = "?" not in self.content and not CLAUSES.search(self.content)
        return self.act == "question" and not self.unclear and one_clause


@lru_cache(maxsize=1_024)
def dialogue_act(message: str) -> DialogueAct:
    """The act of a message."""
    message = as_told(message)
    spelled = _spelled(message)
    plain = folded(spelled)
    small = small_talk(plain)
    if small is not None:
        return DialogueAct(small, message)
    if rest := _beside_greeting(spelled):  # "hi, how are you? I'm Ben"
        told = dialogue_act(rest)
        return replace(told, content=message) if told.act == "statement" else told
    short = plain if len(plain) <= _LONGEST_WHOLE else ""
    if whole := next((act for act, form in _WHOLE_ACTS.items() if form.fullmatch(short)), None):
        return DialogueAct(whole, message)
    if FORGET_LAST.fullmatch(plain):
        return DialogueAct("forget", "")
    if not plain.endswith("?") and (order := _FORGET.match(plain)):
        return DialogueAct("forget", _rest(spelled, plain, order.end()))
    if _ABOUT_ME.search(plain):
        return DialogueAct("about_me", message)
    if _ABOUT_YOU.fullmatch(plain):
        return DialogueAct("about_you", message)
    if _DOCUMENTS.fullmatch(plain):
        return DialogueAct("documents", message)
    asks = _ASKING.match(plain) is not None and not plain.endswith("!")
    if _ENDS.search(plain) or (
        _TALK.search(plain) and (asks or _TELL.match(plain) or "?" in plain or len(plain.split()) <= 12)
    ):
        return DialogueAct("talk", message)
    wh = asks and _opens_with_wh(plain)
    if not wh and (said := _assistant_said(plain)) and said.start() <= _FARTHEST_CLAIM:
        return DialogueAct("claim", message)
    if not wh and "?" in plain and _I_SAID.search(plain):
        return DialogueAct("own_claim", message)
    for act, pattern in (("remember", _REMEMBER), ("standing", _STANDING)):
        order = pattern.match(plain)
        asked = order and len(order[0].split()) > 2 and _THAT.search(order[0])  # "can you remember that …?"
        if not order or (plain.endswith("?") and not asked):
            continue
        if act == "standing" or not _opens_with_wh(plain[order.end() :]):
            rest = _OPENER.sub("", message).strip(" ,.") if act == "standing" else _rest(spelled, plain, order.end())
            return DialogueAct(act, rest.rstrip("?") or message)  # type: ignore[arg-type]
    if "?" in plain:
        return DialogueAct("question", message)
    if _SUBORDINATE.match(plain) or (not wh and _YOU_SAID.search(plain)):  # what another said is told
        return DialogueAct("statement", message, FIRST_PERSON.search(plain) is not None)
    formed = asks or _TELL.match(plain) or _ASKING_CLAUSE.search(plain)
    odds = (judge.asks(spelled) if " " in plain else 0.0) + (_FORMED if formed else -_FORMED)
    if plain.endswith((".", "!")) or _TELLING.match(plain):  # who writes stops writes question marks too
        odds -= _FORMED
    if odds > 0:
        return DialogueAct("question", message, unclear=odds < _CLEAR)
    return DialogueAct("statement", message, FIRST_PERSON.search(plain) is not None, odds > -_CLEAR)


def document_to_summarise(message: str, titles: Mapping[str, str]) -> str | None:
    """The id of the document that a message asks to summarise; empty for no certain one, None for the talk."""
    plain = folded(message)
    if not _SUMMARY.search(plain):
        return None
    subject = _DOCUMENT.sub(" ", _SUMMARY.sub(" ", plain))
    named = _DOCUMENT.search(plain) is not None
    if _OF_TALK.search(subject) and not named:
        return None
    words = [word for word in subject_words(subject) if not word.beside]
    if not words:
        return ("" if len(titles) != 1 else next(iter(titles))) if named else None
    shares = {
        each: sum(not word.stems.isdisjoint(held) for word in words) / len(words)
        for each, title in titles.items()
        for held in [{stem for word in tokens(title) for stem in forms(word)}]
    }
    best = max(shares, key=lambda each: shares[each], default="")
    return best if best and shares[best] >= _NAMED_FROM else "" if named else None


def asks_for_answers(message: str) -> bool:
    """Whether a question wants to know what the assistant said."""
    return _assistant_said(folded(message)) is not None


def _assistant_said(plain: str) -> re.Match[str] | None:
    """Where a message says that the assistant said something; «il dottore mi ha detto» has another subject."""
    said = _YOU_SAID.search(plain)
    if said and _THIRD.search(said[0]):
        alone = said.start() <= _FARTHEST_CLAIM and _NO_SUBJECT.fullmatch(plain[: said.start()])
        return said if alone and not _SUBJECT_BEHIND.match(plain[said.end() :]) else None
    return said


def _beside_greeting(message: str) -> str:
    """What a message says beside questions that only greet; empty if it holds no such question."""
    said = [message[start:end].strip() for start, end in sentences(message, chat=True)]
    left = [each for each in said if not (each.endswith("?") and small_talk(folded(each)) is not None)]
    return " ".join(left) if len(left) < len(said) else ""


def _opens_with_wh(plain: str) -> bool:
    first = WH.search(plain)
    return first is not None and first.start() <= 12


def _rest(message: str, plain: str, start: int) -> str:
    """The end of the message that corresponds to the end of its folded form."""
    return message.strip()[-(len(plain) - start) :].strip(" .?") if start < len(plain) else message


# What an answer must hold, tried in this order; then more exactly, where a number or a time is wanted.
_WANTED = {
    kind: AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in (
        "age", "surname", "name", "colour", "brand", "code", "amount", "number", "time", "place", "person", "reason",
    )
}  # fmt: skip
_PRECISE = {
    kind: AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in ("clock", "year", "duration", "frequency", "date")
}
ANSWER_TYPES = (*_WANTED, "")
_OPENING = {
    kind: AnyLanguage(rf"\W*(?:(?:<dialogue.question_leads>) )*(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in ("person", "time", "place")
}
# "What happens when she hugs me?" asks for no time.
_LATER_CLAUSE = AnyLanguage(r"(?P<asking>\b(?:<dialogue.wh_words>)\b.+?)\b(?:when|who|quando|chi)\b.*", flags=0)
_NO_PERSON = frozenset(("code", "amount", "number", "time", "place"))
_OWN_NAME = AnyLanguage(r"\b(?:<dialogue.own_name>)\b", flags=0)
_ASKED_FACTS = {
    group: AnyLanguage(rf"\b(?:<dialogue.asked_facts:{group}>)\b", flags=0)
    for group in ("age", "home", "work", "study", "origin")
}
_SELF = AnyLanguage(r"(?P<article>\b(?:<vocabulary.articles>)\s+)?\b(?P<word><facts.self_words>)\b", flags=0)
_ADVICE = AnyLanguage(r"\b(?:<dialogue.advice>)\b", flags=0)
_ASKED_NOUN = AnyLanguage(r"\b(?:<dialogue.asked_noun>)(?P<noun>[^\W\d_]{3,})", flags=0)
_PAID_FOR = AnyLanguage(
    r"\b(?:<dialogue.paid_for>)\s+(?:(?:<vocabulary.articles>|<facts.self_words>)\s+)*(?P<noun>[^\W\d_]{3,})", flags=0
)
_LISTING = AnyLanguage(r"\b(?:<dialogue.listing>)\b", flags=0)
_COUNTING = AnyLanguage(r"\b(?:<dialogue.counting>)\b", flags=0)
_CAPITALIZED = re.compile(r"(?<=[^.!?:“«\"\s] )[A-ZÀ-Ý][a-zà-ÿ][\w-]*")
_SHORTEST_BEGINNING = 4
_OPENING_WORD = re.compile(r"[^\W\d_]+")
_MOST_LEADING = 2  # words among which the question word stands: "a ke ora"
_SYNONYM, _ALIKE = 0.7, 0.75


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """A question as it is compared with messages: stems of its content words, wanted answer, wanted speaker.

    `noun` is what is asked for ("which instrument"), `names` are the names in the question, `words` all its words.
    """

    terms: tuple[frozenset[str], ...]
    alike: tuple[frozenset[str], ...]
    wanted: str
    speaker: str
    text: str
    precise: str = ""
    noun: str = ""
    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @property
    def seeks_advice(self) -> bool:
        """Whether it asks what to do."""
        return _ADVICE.search(self.text) is not None

    @property
    def for_advice(self) -> bool:
        """Whether it asks for what the assistant said or advised."""
        return self.speaker == "assistant" or self.seeks_advice

    @property
    def paid_for(self) -> str:
        """What the amount that it asks for is paid for ("how much do I pay for parking"); else empty."""
        found = _PAID_FOR.search(self.text) if self.wanted == "amount" else None
        return found["noun"] if found else ""

    @property
    def counts(self) -> bool:
        """Whether it asks how many there are."""
        return _COUNTING.search(self.text) is not None

    @property
    def is_yes_no(self) -> bool:
        """Whether it only wants something confirmed."""
        return WH.search(self.text) is None

    @property
    def is_list(self) -> bool:
        """Whether it asks for everything of a kind."""
        return _LISTING.search(self.text) is not None

    @property
    def is_personal(self) -> bool:
        """Whether it is about the user, by a pronoun or a verb of the first person, or about an earlier answer."""
        own = {word for each in languages() for word in each.facts.self_words.split("|")}
        empty = all_words("vocabulary.stop_words") | all_words("questions.asking_words")
        return self.speaker == "assistant" or any(
            each["word"] in own or not (each["article"] or each["word"] in empty) for each in _SELF.finditer(self.text)
        )

    @property
    def fact_groups(self) -> list[str]:
        """The groups of facts of the user that it asks for."""
        return [group for group, pattern in _ASKED_FACTS.items() if pattern.search(self.text)]

    @property
    def own_name(self) -> bool:
        """Whether it asks how the user is called."""
        return _OWN_NAME.search(self.text) is not None or (self.wanted == "name" and not self.terms)


@lru_cache(maxsize=8)
def _slips(known: "tuple[Language, ...]") -> dict[str, str]:
    """The question words of all languages, as written in haste, and with two neighbouring letters swapped."""
    wh = {word for each in known for word in each.dialogue.wh_words.split("|")}
    short = (pair for each in known for pair in each.followups.spellings.items())
    hasty = {word: right for word, right in short if right in wh and word not in wh}
    long = [word for word in wh if len(word) >= _SHORTEST_BEGINNING]
    return hasty | {
        word[:at] + word[at + 1] + word[at] + word[at + 2 :]: word for word in long for at in range(1, len(word) - 1)
    }


def _spelled(message: str) -> str:
    """A message as to a friend, spelled out, its first question word put right: "waht", "ke", "qnt"."""
    message = in_full(familiar(message), guess_language(message))
    slips, end, parts = _slips(languages()), 0, list[str]()
    for found in islice(_OPENING_WORD.finditer(message), _MOST_LEADING):
        parts += (message[end : found.start()], slips.get(found[0].lower(), found[0]))
        end = found.end()
    return "".join((*parts, message[end:]))


def memory_question(question: str) -> MemoryQuestion:
    """Read a question about the past."""
    question = _spelled(question)
    plain = folded(question)
    asking = all_words("questions.asking_words")
    small = language(guess_language(question)).vocabulary.stop_words
    words = tuple(dict.fromkeys(tokens(question)))
    content = [
        word for word in words if not (word in small or word in asking or word in all_words("dialogue.past_words"))
    ]
    typed = _LATER_CLAUSE.sub(r"\g<asking>", plain)
    wanted = next((kind for kind, pattern in _WANTED.items() if pattern.search(typed)), "")
    if wanted in _NO_PERSON:  # "when is my grade 5 exam", "who lives at number 8": the first word tells
        wanted = next((kind for kind, pattern in _OPENING.items() if pattern.match(typed)), wanted)
    precise = next((kind for kind, pattern in _PRECISE.items() if pattern.search(typed)), "")
    asked = _ASKED_NOUN.search(plain)
    noun = asked["noun"] if asked and asked["noun"] in content else ""
    return MemoryQuestion(
        tuple(map(forms, content)), tuple(map(synonyms, content)), wanted,
        "assistant" if asks_for_answers(question) else "user", plain, precise, noun,
        frozenset(map(folded, _CAPITALIZED.findall(question))), frozenset(words),
    )  # fmt: skip


@lru_cache(maxsize=4_096)
def synonyms(word: str) -> frozenset[str]:
    """The stems of the words for the same thing, in every language."""
    same = (
        snowball_stem(other, each.code)
        for each in languages()
        for group in map(str.split, each.dialogue.synonyms.split(";"))
        if word in group
        for other in group
        if other != word
    )
    return frozenset(same).union(*(_glosses().get(stem, ()) for stem in forms(word)))


@cache
def _glosses() -> dict[str, set[str]]:
    """The stems of a word in the other language, by each of its stems."""
    found: dict[str, set[str]] = {}
    for line in files("ricordo.languages").joinpath("italian_english.txt").read_text(encoding="utf-8").splitlines():
        gloss, _, words = line.partition(": ")
        if gloss[0] in "#-" or " " in gloss:
            continue
        english = snowball_stem(fold(gloss), "en")
        for word in words.split():
            if "_" not in word:
                italian = snowball_stem(fold(word), "it")
                found.setdefault(english, set()).add(italian)
                found.setdefault(italian, set()).add(english)
    return found


@lru_cache(maxsize=32_768)
def forms(word: str) -> frozenset[str]:
    """The stems of a word in every language."""
    return frozenset(snowball_stem(word, code) for code in codes())


def heard(term: frozenset[str], like: frozenset[str], said: Collection[str]) -> float:
    """How well stems hold a word of a question, from 0 to 1: the word, one with the same beginning, a synonym."""
    if not term.isdisjoint(said):
        return 1.0
    if any(_begins_alike(one, other) for one in term for other in said):
        return _ALIKE
    return _SYNONYM if not like.isdisjoint(said) else 0.0


def _begins_alike(one: str, other: str) -> bool:
    if one[:_SHORTEST_BEGINNING] != other[:_SHORTEST_BEGINNING] or min(len(one), len(other)) < _SHORTEST_BEGINNING:
        return False
    return abs(len(one) - len(other)) <= 4 and (one.startswith(other) or other.startswith(one))
