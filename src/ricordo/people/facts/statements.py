"""The statements of one message about its user, by patterns and by the judge, and its commands to forget.

Quotations and pasted text are masked. The judge needs a higher score if the message is about a text, plays a role or
takes back what it says, and for a sentence that supposes or reports. A lower score is enough after a command to
remember and for a standing wish.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from ricordo.languages.dates import PHRASE
from ricordo.languages.registry import AnyLanguage, all_words, codes
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import as_told, fold, guess_language, in_full
from ricordo.people.facts.claims import JUDGE, MAX_CLAIM_LENGTH, Claim, ForgetCommand, UserMessage, refusal_reason
from ricordo.people.facts.clauses import (
    clauses,
    has_other_verb,
    is_not_oneself,
    lacks_subject,
    own_text,
    retold,
    stated_sentences,
    stated_text,
    supposes,
    tied_end,
)
from ricordo.people.facts.judge import OTHER, Judged, describe, is_available, judge
from ricordo.people.facts.patterns import claims_in_message, read_clause
from ricordo.recall.evidence import snowball_stems, tokens
from ricordo.records.derived import FactKind

_KINDS: dict[str, FactKind] = {"other": "relation", "plan": "date"}
# What is added to the score that a clause needs, in logits: in a message about a text, a role or a joke; in a sentence
# that supposes or reports; in a message without the first person; in a sentence with a wish for all later answers.
_PLAYED, _SUPPOSED, _IMPERSONAL, _STANDING = 1.2, 0.6, 0.8, -4.0
_ASKED = 1.5  # for what opens like a question without its mark ("when do I turn 16")
_OF_THE_KNOWN = -0.8  # for a clause that changes or ends a fact: it often has no first person
_SAME_PERSON = -3.0  # for more about a person of the user's ("my son Tim is ill, he has")
_SAME_AS_BEFORE = -2.0  # for more about the person of the message before ("my wife is called Ann", "she teaches")
_ONLY_WISH = -0.25  # for a wish that does not say that it is for all later answers
_FOR_ALL, _REPORTED = -1.5, 1.4  # for a wish that says so ("always"); for one that reports what others want or say
_PLAYED_BEFORE = 2.0  # for a message after one that gives the user a role
_SURE_FRAGMENT, _ODD_FRAGMENT = 1.5, 2.5  # least margin of a fragment by itself; of one in no group
_POSSIBLE = -1.5  # least margin of a clause that a model takes for a statement
_EVER = -2.5  # for a clause that a pattern matches, in a role play
_LEAD = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)+")
_SELF = AnyLanguage(r"\b(?:<facts.self_words>|<facts.introductions>)\b")
_REMEMBER = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)*\W*(?:<facts.remember>)\s*")
_FORGET = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)*\W*\b(?:<facts.forget>)\b")
_OF_MEMORY = AnyLanguage(r"\s*(?:<facts.remembered_things>)\b")
_ANNOUNCES = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)*\W*(?:<facts.announcements>)\W*")
# A question without its mark, unless a comma ends it ("when I was ten, we moved"); what the assistant said or promised.
_ASKS = AnyLanguage(r"\W*(?:<dialogue.question_openings>)[^,]*$", flags=0)
_OF_ASSISTANT = AnyLanguage(r"\W*(?:(?:<facts.clause_leads>)\b\W*)*(?:<facts.promised>)\b")
_TOLD_BEFORE = AnyLanguage(r"\b(?:<dialogue.user_said>|<dialogue.assistant_said>)\b")
_REQUEST = AnyLanguage(r"\W*(?:<dialogue.tell_me>)\b")
_HELP = AnyLanguage(r"\W*(?:(?:<facts.clause_leads>)\b\W*)*(?:<facts.requests>)\b")
_ABOUT_ME = AnyLanguage(r"\b(?:<dialogue.about_me>)")
_DENIED = AnyLanguage(r"<statements.denied>")
_VALUE = AnyLanguage(r"\d.*|(?:<dialogue.held:number>|<dialogue.held:time>)", flags=0)
_CORRECTS = AnyLanguage(r"\W*(?:<dialogue.corrections>)")
_ALLERGIC = AnyLanguage(r"\b(?:<facts.allergies>)\w*\W*$")  # without saying to what
_IS_ALLERGIC = AnyLanguage(
    r"\W*[A-ZÀ-Ý]\w+ \w{1,2} (?:\w+ )?(?:<facts.allergies>)", flags=0
)  # "Ann is", not "dogs are"
_WISHES = AnyLanguage(r"\b(?:<facts.wishes>)\b")
_INSTEAD = AnyLanguage(r"\b(?:<facts.instead>)")
_FROM_NOW = AnyLanguage(r"\W*\b(?:<facts.standing_openers>)\b[\s,]*")
_ONLY_DAY = AnyLanguage(rf"(?:(?:<calendar.date_leads>)\s)?(?:{PHRASE})(?:\s+\S+){{0,2}}")
_DAY = AnyLanguage(rf"(?:{PHRASE})$")
_SUBJECT = re.compile(r"(?:^|[.!?…\n]\s*)([A-ZÀ-Ý][a-zà-ÿ]+) (\w+)")
_NAMED = re.compile(r"(?<=[\w,] )[A-ZÀ-Ý][a-zà-ÿ]+")
_OF_OTHERS = AnyLanguage(r"\b(?:<facts.others_want>)\b")
_POLITE = AnyLanguage(r"\W*(?:<facts.polite>)\b")
_ASKS_FROM_NOW = AnyLanguage(r"\W*(?:<facts.polite>)\b.*\b(?:<facts.standing_openers>)\W*$")
_STANDING_WISH = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)*\W*\b(?:<facts.standing>)\b")
_CLOSES = AnyLanguage(r"\W*(?:<dialogue.okays>|<dialogue.thanks>|<dialogue.farewells>)\W*", flags=0)
_POLITE_REQUEST = AnyLanguage(r"\W*(?:<dialogue.polite_requests>)\b", flags=0)
_ASKS_YES = AnyLanguage(r"[,;]\s*(?:<statements.tag_questions>)$", flags=0)  # "…, right?"
_THANKED = AnyLanguage(r"\W*(?:<facts.thanks>)\b")
FOR_GOOD = AnyLanguage(r"\b(?:<facts.for_good>)\b")
_EVERYTHING = AnyLanguage(r"\b(?:<facts.everything>)\b")
_PLAYS = AnyLanguage(r"\b(?:<statements.plays>)\b")
_GREETED = AnyLanguage(r"\W*(?:<statements.greetings>)\b")
_SINCE = AnyLanguage(r"(?:<facts.since>)\s")
_ADDRESSED = AnyLanguage(r"\b(?:<statements.orders_anywhere>)\b")
_CORRECTION = AnyLanguage(
    r"(?:\W*\b(?:<dialogue.corrections>)[\s,]*)+"
    r"(?:(?:<facts.bare_subjects>|<dialogue.links>|<calendar.date_leads>)\s+)*(?P<value>\w[\w' -]*?)\W*"
)
_ONLY_NAME = AnyLanguage(
    r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)*(?i:<facts.introduces>)\s+(?P<name>[a-zà-ÿ]{2,14})", flags=0
)
_INTRODUCES = AnyLanguage(r"\W*(?:<facts.introduces>)\s")
_NAMES_IT = AnyLanguage(r"\b(?:<facts.names_it>)")  # it tells what the thing before it is called
_SELF_FIRST = AnyLanguage(r"\W*(?:<facts.self_words>)\b")
_OWN_VERB = AnyLanguage(
    r"\W*(?:<dialogue.first_person>)\s+(?:(?:have|got)\s+)*(?:<dialogue.several>)\b"
)  # "I have three …"
# Names behind a colon with what is said of each; nothing of the user.
_OWN_LIST = AnyLanguage(
    r":\s+(?=[^.!?;:\n]*?[A-ZÀ-Ý][a-zà-ÿ])(?:(?!\b(?i:<dialogue.first_person>)\b)[^.!?;:\n])+(?=[.!?;\n]|$)", flags=0
)
_SIGNED = AnyLanguage(
    r"(?:^|\W)(?i:(?:<facts.closings>)[\s,.!-]*[\n,.-]|(?:<facts.thanks>)[\s,.!-]*\n|(?:<facts.signs>)(?=.*(?:<facts.it_is_me>)))"
    r"\s*(?P<name>[A-ZÀ-Ý][\w.'-]*(?: [A-ZÀ-Ý][\w.'-]*){0,4}?)\s*(?:[\s,]\s*(?i:<facts.it_is_me>)\W*)?$",
    flags=0,
)
_GAME = (
    r"(?:[A-Z][\w&'’]*(?:(?:\s(?:<vocabulary.person_particles>|<vocabulary.articles>|of|and))*\s[A-Z0-9][\w&'’]*){0,4}"
    r"|d&d|dnd)"
)
_CHARACTER = AnyLanguage(
    rf"\b(?i:<facts.possessives>) (?:(?i:<facts.characters>) (?:<facts.character_joins>) (?P<game>{_GAME})"
    rf"|(?P<named>{_GAME}) (?i:<facts.characters>)\b)",
    flags=0,
)
_TITLE = re.compile(r"^(?:\w{2,5}\. )+")
_ASKS_NEXT = AnyLanguage(r"[\s,]+(?:<facts.relatives>)\s")  # "who" and "che" also open a question
_TRAIL = AnyLanguage(r"[\s,]+(?:<facts.trails>)\W*$")
_SLIP = AnyLanguage(r"\b(?:<facts.slips>)\b[\s,]*")
_OTHER_FIRST = AnyLanguage(r"(?:<facts.other_pronouns>)\s")
_WHOSE = AnyLanguage(r"\b(?i:<facts.possessives>) ((?:(?i:<facts.kin_adjectives>) )*\w+(?: [A-ZÀ-Ý][\w-]+)?)", flags=0)
_JOINED = re.compile(r"\s*,?\s*")
_BRACKET = re.compile(r" ?\([^()\n.!?]{1,80}\)")
_CHANGES = ("change", "end")
_NAME, _MANNER = "name", "manner"  # groups: names, and wishes about answers
_WISH = "instruction"  # the label of a standing wish
# Least probability of a wish: that says it is for good; that may also be a habit; that begins with "I".
_LIKELY_WISH, _HABIT, _SURE_WISH = 0.15, 0.5, 0.7
_CHANGED_WISH = 0.3  # for a change of a wish about answers
_GREETED_NAME = 1.0  # subtracted for a name after a greeting
_ALLERGY = 3.0  # subtracted for a name with an allergy, and for an allergen
_LISTED = 1.7  # subtracted for things that the user counts and lists: "I have three cats: …"
_REPLACED = 0.7  # least probability of a change that names what it replaces
_SHORT = 3  # words; a segment of so few is joined with its neighbour
_MASK = "\ufffc"


@dataclass(frozen=True, slots=True)
class SaidFact:
    """A fact of a message, for the answer to it: as a `sentence` in the third person, `addressed` to the user, quoted.

    `addressed` is empty if the rules have no safe sentence: then show the quote.
    """

    kind: Literal["fact", "instruction", "forget"]
    sentence: str
    addressed: str
    quote: str
    language: str


def facts_of_message(text: str, *, before: str | None = None, said_at: datetime | None = None) -> tuple[SaidFact, ...]:
    """The facts, standing wishes and commands of one message, in its language and in order, as readable sentences.

    Nothing is stored. The message is taken as the user's own: check for a crisis and for quarantine before.
    """
    moment = said_at or datetime.now(UTC)
    said = UserMessage("said:query", "said", text, moment)
    earlier = UserMessage("before:query", "said", before, moment) if before else None
    found = [
        (
            text.find(claim.quote),
            SaidFact(
                "instruction" if claim.about.startswith("instruction:") else "fact",
                claim.text,
                _addressed(claim),
                claim.quote,
                claim.language,
            ),
        )
        for claim in message_claims(said, earlier)
    ]
    found += [
        (text.find(command.quote), SaidFact("forget", command.quote, "", command.quote, command.language))
        for command in forget_commands(said)
    ]
    return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))


def corrects(said: str) -> bool:
    """Whether a message begins as a correction of the one before it: "no wait", «anzi»."""
    return _CORRECTS.match(fold(said.replace("’", "'"))) is not None


def corrected_sentence(said: str, metadata: Mapping[str, Any]) -> str:
    """What a message that corrects the one before it says as a whole ("no wait, it's red"); empty for any other.

    Only a value or one other thing may have given way: whatever else the older message said has to be there.
    """
    references: Sequence[Mapping[str, Any]] = metadata.get("references", ())
    whole, before = str(metadata.get("standalone", "")), str(references[0].get("text", "")) if references else ""
    rewritten = metadata.get("act") == "statement" and before and not whole.endswith((")", ").", "?"))
    if not (rewritten and corrects(said)):
        return ""
    old, new = (tokens(fold(text)) for text in (before, whole))
    gone = [word for word in old if word not in new and word not in all_words("vocabulary.stop_words")]
    kept = [sum(_VALUE.fullmatch(word) is not None for word in words) for words in (old, new, gone)]
    return whole if kept[1] <= kept[0] and (len(gone) == kept[2] or len(gone) == 1) else ""


def _addressed(claim: Claim) -> str:
    if claim.about.startswith("instruction:") or _CHARACTER.fullmatch(claim.quote):
        return ""
    return retold(claim.quote, claim.language, "second") or ""


def message_claims(said: UserMessage, before: UserMessage | None = None, zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The claims of one message: by patterns, then what it commands to remember, then by judged clauses."""
    if (content := as_told(said.text)) != said.text:
        said = replace(said, text=content)
    dropped = [(at, at + len(each.quote)) for each in forget_commands(said) if (at := said.text.find(each.quote)) >= 0]
    matched = [claim for claim in claims_in_message(said, zone) if not _within(said, claim, dropped)]
    if _PLAYS.search(stated_text(said.text)) or (before and _PLAYS.search(stated_text(before.text))):
        told = before.text if before else None
        matched = [claim for claim in matched if could_be_stated(said.text, claim.quote, told, least=_EVER)]
    signed = signed_name(said, matched, zone) or introduced_name(said, matched, zone)
    matched += signed
    matched += played_character(said, zone)
    matched += remembered_claims(said, matched, zone) or (corrected_claims(said, before, zone) if before else ())
    judged = judged_claims(said, before, matched, zone)
    again = "said:name:" if signed else _MASK  # one claim for a signature
    return (*matched, *(each for each in judged if not (each.about.startswith(again) or _within(said, each, dropped))))


def signed_name(said: UserMessage, known: Sequence[Claim], zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The name under a message that closes like a letter, unless it is the letter of others that the user works on."""
    flat = stated_text(said.text)
    signed = _SIGNED.search(flat)
    if not signed or (":" in flat and is_not_oneself(said.text)) or any(claim.about == "name" for claim in known):
        return ()
    start, end = signed.span("name")
    language = guess_language(said.text)
    sentence = language_by_code(language).facts.signed.format(name=_TITLE.sub("", flat[start:end]))
    read = read_clause(sentence, replace(said, text=sentence), zone)
    claim = replace(read, quote=said.text[start:end], said=said, made_by=JUDGE) if read else None
    return (claim,) if claim and not refusal_reason(claim) else ()


def introduced_name(said: UserMessage, known: Sequence[Claim], zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """A name in small letters by which users introduce themselves: "im leo im in 2nd year", "hi, im zoe"."""
    flat, language = own_text(said.text), guess_language(said.text)
    table = language_by_code(language).facts
    if any(claim.about == _NAME for claim in known):
        return ()
    for clause in clauses(said.text):
        told = flat[clause.start : clause.end].strip()
        named = _ONLY_NAME.fullmatch(told) if clause.greeted else None
        if named and named["name"] not in table.never_names and describe(told, least=0.0)[1] == _NAME:
            sentence = table.signed.format(name=named["name"].capitalize())
            read = read_clause(sentence, replace(said, text=sentence), zone)
            claim = replace(read, quote=told, said=said, made_by=JUDGE) if read else None
            return (claim,) if claim and not refusal_reason(claim) else ()
    return ()


def played_character(said: UserMessage, zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The claim that the user has a named character in a game; what they say about it is not about them."""
    flat = stated_text(said.text)
    part = _CHARACTER.search(flat)
    if not part:
        return ()
    language = guess_language(said.text)
    claim = _claim(Judged(*part.span(), "fact", OTHER, 0.0), flat, said, language, zone)
    sentence = language_by_code(language).facts.has_character.format(game=part["game"] or part["named"])
    return (replace(claim, text=sentence),) if claim and not refusal_reason(claim) else ()


def corrected_claims(said: UserMessage, before: UserMessage, zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The claim of the message before with the value that a correction puts in its place: "no, red"."""
    flat = stated_text(said.text)
    plain = fold(flat)
    told = _CORRECTION.fullmatch(plain) if len(plain) == len(flat) else None
    known = [claim for claim in claims_in_message(before, zone) if ": " in claim.text] if told else []
    if not told or len(known) != 1 or len(told["value"].split()) > _SHORT or _SELF.match(told["value"]):
        return ()
    head = known[0].text.partition(": ")[0]
    quote = said.text[slice(*told.span("value"))]
    claim = replace(known[0], text=f"{head}: {quote}", quote=quote, said=said, made_by=JUDGE, replaces=True)
    return () if refusal_reason(claim) else (claim,)


def _within(said: UserMessage, claim: Claim, spans: Iterable[tuple[int, int]]) -> bool:
    at = said.text.find(claim.quote)
    return any(start <= at < end for start, end in spans)


def judged_claims(
    said: UserMessage, before: UserMessage | None, known: Sequence[Claim] = (), zone: tzinfo = UTC
) -> tuple[Claim, ...]:
    """The claims of a message that the judge finds beside those `known` from patterns."""
    flat = stated_text(said.text)
    taken = [(at, at + len(claim.quote)) for claim in known if (at := said.text.find(claim.quote)) >= 0]
    language = guess_language(said.text)
    found: dict[str, Claim] = {}
    for clause in statements(said.text, before.text if before else None):
        told = sum(max(0, min(clause.end, end) - max(clause.start, start)) for start, end in taken)
        if clause.label == "forget" or told > (clause.end - clause.start) / 2:
            continue
        begin = max((end for start, end in taken if start <= clause.start < end), default=clause.start)
        rest = flat[begin : clause.end].lstrip(" ,;")
        lead = _LEAD.match(rest)
        if _speaks(rest[lead.end() :] if lead else rest, language):
            # "I play the piano and I study": without the second verb
            clause = replace(clause, start=clause.end - len(rest), attribute=describe(rest)[1])
        claim = _claim(clause, flat, said, language, zone, before.text if before else "")
        if claim and clause.margin < _sure_fragment(clause) and _is_fragment(claim.quote):
            continue
        if claim and not refusal_reason(claim):
            found.setdefault(claim.text, claim)
    return tuple(found.values())


def _speaks(words: str, language: str) -> bool:
    """Whether words begin with the first person: a pronoun, or in Italian a verb."""
    own_verbs = language_by_code(language).facts.second_verbs.keys()
    return _SELF_FIRST.match(words) is not None or not own_verbs.isdisjoint(words.lower().split()[:1])


def statements(text: str, before: str | None = None) -> tuple[Judged, ...]:
    """The judged clauses of a message that pass the guards; short neighbours of one kind are joined."""
    flat = stated_text(text)
    needed, impersonal = _needed(text, before), not _SELF.search(flat)
    language = guess_language(text)
    own_verbs = language_by_code(language).facts.second_verbs.keys()
    found: list[Judged] = []
    judged = judge(text, before)
    for clause in _with_allergens(flat, judged):
        if found and clause.start < found[-1].end:  # it is part of the clause before it
            found[-1] = replace(found[-1], end=max(found[-1].end, clause.end if clause.margin >= needed else 0))
            continue
        words = flat[clause.start : clause.end]
        lead = _LEAD.match(words)
        told = words[lead.end() :] if lead else words
        of_oneself = _SELF_FIRST.match(told) is not None
        # "every time" may also be a habit; "from now on" a wish or a change.
        likely = _LIKELY_WISH if clause.label == _WISH or _FROM_NOW.search(words) else _HABIT
        likely = _SURE_WISH if of_oneself and clause.attribute != _MANNER else likely
        for_good = clause.wish >= likely and _is_for_good(flat, clause)
        if for_good and (not of_oneself or clause.attribute == _MANNER):
            clause = replace(clause, label=_WISH)
        # "from now on I work at home" changes a fact; a wish is addressed to the assistant.
        begins = _FROM_NOW.match(words)
        of_now = begins is not None and _tells_of_oneself(words[begins.end() :], language)
        standing = not of_now and (_STANDING_WISH.match(flat, clause.start) or _ASKS_FROM_NOW.match(words)) is not None
        if of_now:
            clause = replace(clause, label="change")
        if _INSTEAD.search(words) and clause.label in ("fact", "plan", "change"):
            clause = replace(clause, label="change", change=max(clause.change, _REPLACED))
        wish = clause.label == _WISH
        # A wish may name words that it is about ("never say “dear”"); a statement in quotation marks is of others.
        if len(words) < clause.end - clause.start or (_MASK in words and not (wish and words.strip(_MASK + " "))):
            continue
        if wish and _THANKED.match(words):
            continue
        weighed = _STANDING if standing or of_now else _SUPPOSED if not wish and supposes(words) else 0.0
        if wish and impersonal:
            weighed -= _IMPERSONAL  # orders have no first person
        if flat[clause.end : clause.end + 1] == ":" and _OWN_VERB.match(words):
            weighed -= _LISTED
        if not wish and _opens_question(flat, clause):
            weighed += _ASKED
        if clause.attribute == _NAME and _GREETED.match(words):
            weighed -= _GREETED_NAME
        if _IS_ALLERGIC.match(words):
            weighed -= _ALLERGY + (_IMPERSONAL if impersonal else 0)
        if (wish or standing) and _OF_OTHERS.search(flat, *_sentence_around(flat, clause)):
            weighed = _REPORTED  # "the boss wants them always in blue"
        elif wish and not standing and for_good:
            weighed += _FOR_ALL * (1.0 if clause.wish >= _SURE_WISH else clause.wish)
        elif wish and "?" not in flat and clause.wish >= _SURE_WISH:
            weighed += _ONLY_WISH
        if clause.label in _CHANGES and weighed == 0.0:
            weighed = _OF_THE_KNOWN
        follows = found and _JOINED.fullmatch(flat[found[-1].end : clause.start])
        if not wish and (_WHOSE.match(flat, found[-1].start) if follows else before and not found):
            whose = _person_before(flat, clause, told, language, before or "")
            weighed += (_SAME_PERSON if follows else _SAME_AS_BEFORE) if whose else 0.0
        if clause.margin < needed + weighed or _is_nothing(flat, clause, lasts=for_good or standing):
            continue
        if standing:
            clause = replace(clause, label=_WISH)
        elif (
            wish
            and not (for_good or _ADDRESSED.search(words))
            and (
                (clause.wish < _SURE_WISH and (of_oneself or not own_verbs.isdisjoint(words.lower().split())))
                or _tells_of_oneself(words, language)  # "I now go every Sunday"
            )
        ):
            clause = replace(clause, label="fact")
        if not _ASKS_NEXT.match(flat, clause.end) or any(clause.end < each.start <= clause.end + 2 for each in judged):
            clause = replace(clause, end=max(clause.end, tied_end(flat, clause.start, clause.end)))
        clause = replace(clause, end=max(clause.end, _list_end(flat, clause)))
        last = found[-1] if found else None
        if last and _belongs_to(last, clause, flat):
            label = _WISH if clause.label == _WISH and last.wish >= _LIKELY_WISH else last.label
            end = max(clause.end, _bracket_end(flat, last, clause))
            margin, change = max(last.margin, clause.margin), max(last.change, clause.change)
            found[-1] = replace(last, end=end, margin=margin, label=label, change=change)
        else:
            found.append(clause)
    return tuple(found)


def _with_allergens(flat: str, judged: Sequence[Judged]) -> list[Judged]:
    """The clauses, with "I'm allergic" joined to the clause that names what cannot be eaten or taken."""
    found: list[Judged] = []
    for clause in judged:
        last = found[-1] if found else None
        if (
            last
            and _ALLERGIC.search(flat[clause.start : clause.end])
            and _DENIED.search(fold(flat[last.start : last.end]))
            and _JOINED.fullmatch(flat[last.end : clause.start])
        ):
            found.pop()
            clause = replace(clause, start=last.start, margin=max(last.margin, clause.margin) + _ALLERGY)
        found.append(clause)
    return found


def _is_for_good(flat: str, clause: Judged) -> bool:
    """Whether the sentence of a wish says that it is for all later answers."""
    opening, closing = _sentence_around(flat, clause)
    told = flat[closing : closing + 1] != "?" or clause.wish >= _SURE_WISH  # "could you always …?" is a wish
    return told and FOR_GOOD.search(flat[opening:closing]) is not None


def _sentence_around(flat: str, clause: Judged) -> tuple[int, int]:
    opening = max(flat.rfind(mark, 0, clause.start) for mark in ".!?\n") + 1
    return opening, min((at for mark in ".!?\n" if (at := flat.find(mark, clause.end)) >= 0), default=len(flat))


def _opens_question(flat: str, clause: Judged) -> bool:
    """Whether a clause begins a sentence that asks without a question mark."""
    start, end = _sentence_around(flat, clause)
    if flat[start : clause.start].strip() or flat[end : end + 1] == "?":
        return False
    return _ASKS.match(fold(in_full(flat[start:end], guess_language(flat)))) is not None


def _is_nothing(flat: str, clause: Judged, *, lasts: bool) -> bool:
    """Whether a clause states nothing: it announces ("update: …"), asks, or is a wish for one answer."""
    words = flat[clause.start : clause.end]
    heads = flat[clause.end : clause.end + 1] == ":" and not _OWN_VERB.match(words)
    if heads and (clause.label == "remember" or len(words.split()) <= _SHORT):
        return True
    start, end = _sentence_around(flat, clause)
    said = fold(flat[start:end])
    if flat[end : end + 1] == "?" and (_TOLD_BEFORE.search(said) or _ASKS_YES.search(said)):
        return True
    if _CLOSES.fullmatch(fold(words)) or _POLITE_REQUEST.match(fold(words)):
        return True
    if _OF_ASSISTANT.match(words):
        return True
    asked = clause.label == _WISH and clause.wish < _SURE_WISH and _REQUEST.match(fold(words)) is not None
    once = asked or _HELP.match(words) is not None or _ABOUT_ME.search(fold(flat[start:end])) is not None
    return not lasts and (once or _ANNOUNCES.fullmatch(words) is not None)


def announces(text: str) -> bool:
    """Whether a message only announces what comes next: "thanks, now let's talk about my back"."""
    return _ANNOUNCES.fullmatch(text) is not None or _ANNOUNCES.fullmatch(text.rpartition(",")[2]) is not None


def _tells_of_oneself(words: str, language: str) -> bool:
    """Whether the user says what they do, not what they want or what the assistant does."""
    told = retold(words, language, "third")
    turned = told is not None and fold(told) != fold(" ".join(words.split()).strip(" ,.;:!?…-–—"))
    return (
        turned and _SELF_FIRST.match(words) is not None and not _WISHES.search(words) and not _ADDRESSED.search(words)
    )


def _needed(text: str, before: str | None = None) -> float:
    """The least margin of a clause in this message."""
    needed = language_by_code(guess_language(text)).facts.surer
    if is_not_oneself(text) or _PLAYS.search(stated_text(text)):
        needed += _PLAYED
    if not _SELF.search(stated_text(text)):
        needed += _IMPERSONAL
    return needed + (_PLAYED_BEFORE if before and _PLAYS.search(stated_text(before)) else 0.0)


def _belongs_to(last: Judged, clause: Judged, flat: str) -> bool:
    """Whether a clause is joined to the one before it: it says since when, depends on it, or one of them is short."""
    gap = flat[last.end : clause.start]
    bracketed = _bracket_end(flat, last, clause) > 0
    if not (bracketed or _JOINED.fullmatch(gap)) or clause.end - last.start > MAX_CLAIM_LENGTH - 2:
        return False
    words = flat[clause.start : clause.end]
    lead = _LEAD.match(words)
    bare = words[lead.end() :] if lead else words
    if (last.label == _WISH) != (clause.label == _WISH):  # a fact is the reason of a wish, and a claim of its own
        return len(bare.split()) < _SHORT and (last.label == _WISH or FOR_GOOD.search(bare) is not None)
    if bracketed:
        return True
    if gap.isspace() and not lead and _SELF_FIRST.match(bare) and _INTRODUCES.match(flat, last.start):  # "im zoe im 15"
        return False
    if _NAMES_IT.search(bare) or lacks_subject(bare, ""):
        return True
    shortest = min(len(flat[last.start : last.end].split()), len(bare.split()))
    first = next(iter(tokens(bare)), "")
    leans = (
        first in all_words("facts.leaning")
        or (lead is not None and first in all_words("followups.indefinite"))
        or (first.isdigit() and shortest <= _SHORT)
    )
    leans = leans or _ONLY_DAY.fullmatch(bare) is not None or _WISHES.search(flat[: last.end].split()[-1]) is not None
    return leans or shortest <= (_SHORT if last.label == clause.label else 1) or _SINCE.match(words) is not None


def _list_end(flat: str, clause: Judged) -> int:
    """The end of the list that a clause announces, "I have two sons: Max, who is 4, and Tom"; 0 if none."""
    listed = _OWN_LIST.match(flat, clause.end) if _OWN_VERB.match(flat[clause.start : clause.end]) else None
    return listed.end() if listed and listed.end() - clause.start <= MAX_CLAIM_LENGTH - 2 else 0


def _bracket_end(flat: str, last: Judged, clause: Judged) -> int:
    """The end of the bracket after a clause that holds the next one, "my bike (a Gazelle, second hand)"; 0 if none."""
    bracket = _BRACKET.match(flat, last.end)
    return bracket.end() if bracket and clause.start < bracket.end() else 0


def _sure_fragment(clause: Judged) -> float:
    return _SURE_FRAGMENT if clause.attribute != OTHER and clause.label != _WISH else _ODD_FRAGMENT


def _is_fragment(words: str) -> bool:
    """Whether a clause says too little by itself: one word, or only stop words."""
    said = tokens(words)
    return len(said) < 2 or not any(snowball_stems(word, code) for word in said for code in codes())


def could_be_stated(text: str, quote: str, before: str | None = None, least: float = _POSSIBLE) -> bool:
    """Whether the judge holds it possible that a quote of a message states something; the gate of a model's claims."""
    start = text.find(quote)
    needed = least + _needed(text, before)
    return not is_available() or any(
        clause.margin >= needed and clause.start < start + len(quote) and start < clause.end
        for clause in judge(text, before)
    )


def remembered_claims(said: UserMessage, known: Sequence[Claim] = (), zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """What a message commands to remember: the rest of the sentence after "remember that"."""
    flat = stated_text(said.text)
    language = guess_language(said.text)
    found = []
    for start, end, asks in stated_sentences(flat):
        lead = _REMEMBER.match(flat[start:end])
        begin = start + lead.end() if lead else end
        asks = asks and not _POLITE.match(flat[start:end])  # "can you remember that …?"
        if not lead or asks or _MASK in flat[begin:end] or any(claim.quote in said.text[begin:end] for claim in known):
            continue
        end = min(end, begin + MAX_CLAIM_LENGTH - 2)
        label, group = describe(flat[begin:end])
        if _STANDING_WISH.match(flat[begin:end]) or label == _WISH:
            label = _WISH
        elif label in ("remember", "forget"):
            label = "fact"
        claim = _claim(Judged(begin, end, label, group, 2.0), flat, said, language, zone)
        if claim and not refusal_reason(claim):
            found.append(claim)
    return tuple(found)


def forget_commands(said: UserMessage) -> tuple[ForgetCommand, ...]:
    """The commands of a message to forget something that was said."""
    flat = stated_text(said.text)
    if is_not_oneself(said.text):
        return ()
    judged = [each for each in judge(said.text, None) if each.label == "forget" and each.margin >= 0]
    found = []
    for start, end, _ in stated_sentences(flat):
        lead = _FORGET.match(flat[start:end])
        plain = lead and _OF_MEMORY.match(flat[start + lead.end() : end])
        sure = any(start <= each.start < end for each in judged)
        if (plain or sure) and _MASK not in flat[start:end] and not _REMEMBER.match(flat[start:end]):
            quote = said.text[start:end].strip()
            everything = _EVERYTHING.search(quote) is not None
            language = guess_language(said.text)
            group = describe(flat[start + (lead.end() if lead else 0) : end])[1]
            found.append(ForgetCommand(said, quote, language, group, everything))
    return tuple(found)


def _person_before(flat: str, clause: Judged, quote: str, language: str, before: str = "") -> str:
    """The person of a clause that begins with "she" or with a verb: "my nan is ill, she lives in Bath".

    Where the message names no person before it, the one person of the message `before` is meant.
    """
    if not _OTHER_FIRST.match(quote) and not has_other_verb(quote, language):
        return ""
    table = language_by_code(language).facts
    verbs = {*table.third_verbs.values(), *table.reflexives.values()}
    opening, said = _sentence_around(flat, clause)[0], flat[: clause.start]
    own = [(each.end(), each[1]) for each in _WHOSE.finditer(said)]
    if own and own[-1][0] > opening:  # the subject of the sentence, whatever else it names
        return own[-1][1]
    named = [(each.end(), each[0]) for each in _NAMED.finditer(said, opening)]
    named += [(each.end(), each[1]) for each in _SUBJECT.finditer(said) if each[2] in verbs and not _DAY.match(each[1])]
    if not (own or named or _LEAD.sub("", said).strip() or _CORRECTS.match(flat)):
        people = {each[1] for each in _WHOSE.finditer(before)}
        return people.pop() if len(people) == 1 else ""
    return max(own + named, default=(0, ""))[1]


def _trimmed(flat: str, start: int, end: int) -> int:
    """The end of a clause without punctuation and without words that need what was cut off ("non so da")."""
    goes_on = flat[end : end + 1].isspace() and flat[end + 1 : end + 2].isalpha()
    leaning = all_words("facts.leaning") if goes_on else frozenset()
    while end > start:
        while end > start and flat[end - 1] in " \t,.;:!?…-–—":
            end -= 1
        last = flat.rfind(" ", start, end) + 1
        if last <= start or flat[last:end].lower() not in leaning:
            break
        end = last
    return end


def _claim(clause: Judged, flat: str, said: UserMessage, language: str, zone: tzinfo, before: str = "") -> Claim | None:
    start, end = clause.start, clause.end
    lead = _LEAD.match(flat[start:end])
    if lead and clause.label != _WISH:
        start += lead.end()
    begins = _FROM_NOW.match(flat[start:end])
    if begins and clause.label != _WISH:
        start += begins.end()
    if clause.label != _WISH and (slips := list(_SLIP.finditer(flat[start:end]))):
        start += slips[-1].end()  # a slip of the tongue: what is before it is not meant
    if clause.label != _WISH and (trail := _TRAIL.search(flat[start:end])):
        end = start + trail.start()
    end = _trimmed(flat, start, end)
    quote = said.text[start:end]
    if sum(c.isalnum() for c in quote) < 3:
        return None
    named, last = clause.attribute == _NAME, quote.rfind(" ") + 1
    spelled = quote[:last] + quote[last:].capitalize() if named and quote.islower() else quote
    if clause.label in ("fact", "remember", "change") and (
        read := read_clause(spelled, replace(said, text=spelled) if spelled != quote else said, zone, named=named)
    ):
        return replace(
            read, quote=quote, said=said, made_by=JUDGE, replaces=clause.label == "change", change=clause.change
        )
    opening, closing = language_by_code(language).summaries.user_quoted
    mends = clause.label in ("fact", "plan") and _CORRECTS.match(flat) and lacks_subject(quote, language)
    replaces = clause.label in _CHANGES or bool(mends)
    changed = replaces and clause.attribute == _MANNER and clause.wish >= _CHANGED_WISH
    wish = clause.label == _WISH or changed
    told = None if wish else retold(quote, language, "third")
    if whose := _person_before(flat, clause, quote, language, before):
        told = f"{whose[:1].upper()}{whose[1:]}: {quote[:1].lower()}{quote[1:]}"
    elif not (wish or replaces or flat[_sentence_around(flat, clause)[0] : clause.start].strip()) and lacks_subject(
        quote, language
    ):
        return None
    family = "instruction" if wish else "said"
    digest = hashlib.blake2b(f"{said.id}\x1f{quote}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return Claim(
        kind=_KINDS.get(clause.label, "other"),
        text=told or f"{opening[-1]}{quote}{closing[0]}",
        about=f"{family}:{clause.attribute}:{digest}",
        quote=quote,
        language=language,
        said=said,
        confidence=round(1 - 0.5 ** (1 + max(0.0, clause.margin)), 3),
        made_by=JUDGE,
        replaces=replaces,
        change=clause.change,
    )
