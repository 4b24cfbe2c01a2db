"""Read claims from a message by the patterns of each language.

A pattern matches a whole clause. The words that it captures (a thing, an action, a place, a name, a date) are checked
and cleaned: they come out in the third person, or None if they are no stable claim, such as words that refer to the
moment ("this exercise", "today"), to the listener or to the user's personal troubles.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, tzinfo
from functools import cache

from ricordo.languages.base import FactPattern, FactWords, Language
from ricordo.languages.dates import PHRASE, format_day, has_year, resolve_day
from ricordo.languages.registry import DAY, AnyLanguage, all_words, filled, languages
from ricordo.languages.text import in_full
from ricordo.people.facts.claims import Claim, UserMessage, about_key, refusal_reason
from ricordo.people.facts.clauses import clauses, own_text, tied_end
from ricordo.recall.evidence import snowball_stems, tokens

_NAME = AnyLanguage(
    r"(?:[A-Z]\. ){0,2}[A-ZÀ-Ý][\w'-]*[a-zà-ÿ](?:\s+(?:de|van|von|<vocabulary.person_particles>)?\s?[A-ZÀ-Ý][\w'-]*"
    r"[a-zà-ÿ]){0,3}|(?:[A-Z]\. ?){1,3}[A-Z]|[a-zà-ÿ]{2,14}",
    flags=0,
)
_PLACE_END = AnyLanguage(r"\s+(?:<facts.place_endings>)\b.*")
_ARTICLE = AnyLanguage(r"(?:(?:<vocabulary.articles>)\s+|(?:<vocabulary.elided_articles>)')")
_DEADLINE = AnyLanguage(rf"\s+(?:<facts.deadlines>)\s+(?P<day>{PHRASE})$")
_DEADLINE_END = AnyLanguage(r"\s(?:<facts.deadline>) \d{1,2} \w+ \d{4}$", flags=0)
_DATE_SIGN = AnyLanguage(r"\d|<calendar.first_day>", flags=0)
_AHEAD = AnyLanguage(r"(?:<calendar.ahead>)\s")
_OFFERED = AnyLanguage(r"\b(?:<facts.offered>)\b")
# One more noun after "I have …": "and a son".
_FURTHER = AnyLanguage(
    r"\s*,?\s*(?:<facts.joins>)\s+(?P<noun>(?:<followups.indefinite>)\s+\w+(?:\s+\w+)?)(?=\s*(?:[,.;!?]|$))"
)
_NAME_JOINED = AnyLanguage(r"\s+(?:<facts.name_joiners>)\s+[a-zà-ÿ].*", flags=0)
_APPOSED = 4  # words at most that stand behind a name
_END_MARKS = " \t,.!?;:…*_-–—\"'"


def claims_in_message(said: UserMessage, zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The claims of one message, in order; of two claims about one subject, the last."""
    flat = own_text(said.text)
    tables = [each.facts for each in languages() if each.facts.sign.search(flat)]
    if not tables:
        return ()
    said_on = said.created_at.astimezone(zone).date()
    found: dict[str, Claim] = {}
    for clause in clauses(said.text):
        candidate = _first_match(flat, clause.start, clause.end, clause.greeted, tables, said, said_on)
        if candidate is None and "name" in found:
            candidate = _apposed(flat, clause.start, clause.end, tables, said, zone)
        if candidate is None:
            continue
        for each in _with_ties(candidate, flat, clause.start):
            key = each.about or each.text
            found.pop(key, None)
            found[key] = each
    return tuple(found.values())


def _apposed(flat: str, start: int, end: int, tables: list[FactWords], said: UserMessage, zone: tzinfo) -> Claim | None:
    """What stands behind the name without a verb: "I'm Ann Lee, a lawyer, 40"."""
    words = flat[start:end].strip(_END_MARKS)
    if not words or len(words.split()) > _APPOSED or flat[:start].rstrip()[-1:] != ",":
        return None
    for frame in (frame for table in tables for frame in table.apposed):
        sentence = frame.format(words)
        read = read_clause(sentence, replace(said, text=sentence), zone)
        if read and read.about and words in said.text:
            return replace(read, quote=words, said=said)
    return None


def _with_ties(claim: Claim, flat: str, start: int) -> list[Claim]:
    """The claim with the names and clauses that belong to its noun, and one for each further noun of its verb."""
    text = claim.said.text
    start = text.find(claim.quote, start)
    end = start + len(claim.quote)
    stop = tied_end(flat, start, end)
    if claim.kind != "relation" or claim.about:
        return [claim]
    found = [replace(claim, text=f"{claim.text}{text[end:stop]}", quote=text[start:stop])]
    while further := _FURTHER.compiled.match(flat, stop):
        start, stop = further.start("noun"), tied_end(flat, *further.span("noun"))
        verb = claim.text.partition(" ")[0]
        found.append(replace(claim, text=f"{verb} {text[start:stop]}", quote=text[start:stop]))
    return [each for each in found if not refusal_reason(each)] or [claim]


def read_clause(quote: str, said: UserMessage, zone: tzinfo = UTC, *, named: bool = False) -> Claim | None:
    """The claim of a clause that is known to state something, after everyday spellings are written out.

    With `named` it is known to contain a name: then "I'm Ann" needs no greeting before it.
    """
    said_on = said.created_at.astimezone(zone).date()
    for table in (each.facts for each in languages()):
        plain = in_full(quote, table.code).replace("\u2019", "'").strip(" \t,.!*_-–—)")
        lead = table.lead.match(plain)
        for text in (plain, plain[lead.end() :]) if lead else (plain,):
            for pattern in table.patterns:
                match = None if pattern.greeted and not named else _regex(pattern, languages()).fullmatch(text)
                if match and (claim := _claim_from_match(pattern, match.groupdict(), quote, table, said, said_on)):
                    return claim
    return None


def _first_match(
    flat: str, start: int, end: int, greeted: bool, tables: list[FactWords], said: UserMessage, said_on: date
) -> Claim | None:
    while start < end and not flat[start].isalnum():
        start += 1
    while start < end and flat[end - 1] in " \t,.!*_-–—)":
        end -= 1
    for table in tables:
        if not table.sign.search(flat, start, end):
            continue
        lead = table.lead.match(flat, start, end)
        # With the first word ("Adesso capisco…"), then without it ("Ciao mi chiamo…").
        for begin in (start, lead.end()) if lead else (start,):
            for pattern in table.patterns:
                if pattern.greeted and not greeted:
                    continue
                match = _regex(pattern, languages()).fullmatch(flat, begin, end)
                if match:
                    quote = said.text[begin:end]
                    candidate = _claim_from_match(pattern, match.groupdict(), quote, table, said, said_on)
                    if candidate is not None:
                        return candidate
    return None


@cache
def _regex(pattern: FactPattern, known: tuple[Language, ...]) -> re.Pattern[str]:
    return re.compile(filled(pattern.clause.replace(DAY, PHRASE)), re.IGNORECASE)


def _claim_from_match(
    pattern: FactPattern, groups: dict[str, str | None], quote: str, table: FactWords, said: UserMessage, said_on: date
) -> Claim | None:
    filled = {}
    for name, check in (("x", pattern.x), ("y", pattern.y)):
        words = groups.get(name)
        if words is None:
            continue
        checked = CHECKS[check](words, table, said_on)
        if not checked:
            return None
        filled[name] = checked
    text = pattern.text.format(**filled).replace("' ", "'")
    text = text[0].upper() + text[1:]
    about = _about(pattern, filled, table.code)
    candidate = Claim(pattern.kind, text, about, quote, table.code, said, pattern.confidence)
    return None if refusal_reason(candidate) else candidate


def _about(pattern: FactPattern, filled: dict[str, str], language: str) -> str:
    prefix, brace, name = pattern.about.partition(":{")
    if not brace:
        return pattern.about
    return about_key(prefix, pattern.kind, without_deadline(filled[name[0]]), language)


def thing(words: str, speech: FactWords) -> str | None:
    """What is liked, hard or wanted, in a few words that stay meaningful later."""
    kept = _stripped(words, speech)
    if not kept or len(kept) > 90 or len(kept.split()) > 12:
        return None
    if speech.refused.search(kept) or speech.refused_first.match(kept) or not snowball_stems(kept, speech.code):
        return None
    pattern, instead = speech.reflexive
    kept = pattern.sub(instead, kept)
    turned = re.sub(r"[^\W\d_]+", lambda match: speech.turned.get(match[0].lower(), match[0]), kept)
    return turned[0].lower() + turned[1:] if _ARTICLE.match(turned) else turned


def taste(words: str, speech: FactWords) -> str | None:
    """What is liked in general, not a choice among options ("la seconda opzione").

    In English "the" refers to something present ("I love the colours"): that is a remark, not a taste.
    """
    kept = thing(words, speech)
    if kept and (_OFFERED.search(kept) or _head(kept) & speech.passing - all_words("facts.lasting")):
        return None
    return None if kept and speech.remarks.match(kept) else kept


def subject(words: str, speech: FactWords) -> str | None:
    """A thing that can be difficult; not a question, an exercise or current work."""
    kept = thing(words, speech)
    if kept is None or speech.not_subjects.search(kept) or re.search(r"\d\.\d", kept):
        return None
    passing = _head(kept, 2) & speech.passing and not any(phrase in kept for phrase in speech.lasting_subjects)
    return None if passing or all_words("facts.work") & set(tokens(kept)) else kept


def _head(kept: str, count: int = 1) -> frozenset[str]:
    return frozenset(tokens(_ARTICLE.sub("", kept, count=1))[:count])


def person_name(words: str, speech: FactWords) -> str | None:
    """A name: up to four capitalised words, or one lower-case word that is nothing else."""
    kept = _NAME_JOINED.sub("", words).strip(_END_MARKS)
    if not _NAME.fullmatch(kept) or any(word in speech.never_names for word in tokens(kept)):
        return None
    return kept if kept[0].isupper() else kept.capitalize()


def proper_name(words: str, speech: FactWords) -> str | None:
    """A capitalised name."""
    kept = person_name(words, speech)
    return kept if kept and words.strip(_END_MARKS)[0].isupper() else None


def place(words: str, speech: FactWords) -> str | None:
    """Where a user lives or comes from, without duration and company."""
    kept = _PLACE_END.sub("", _stripped(words, speech)).strip(_END_MARKS)
    if not kept or len(kept) > 60 or speech.refused.search(kept):
        return None
    parts = kept.split()
    first = tokens(parts[0])
    if not first or first[0] in speech.never_places or any(c.isdigit() for c in kept):
        return None
    capital = any(part[0].isupper() or re.match(r"[dl]'[A-ZÀ-Ý]", part) for part in parts)
    return kept if capital and len(parts) <= 6 else kept.title() if len(parts) == 1 and kept.isalpha() else None


def proper_place(words: str, speech: FactWords) -> str | None:
    """A capitalised place, for openings that also lead elsewhere ("vengo da")."""
    kept = place(words, speech)
    return kept if kept and any(c.isupper() for c in words) else None


def day(words: str, speech: FactWords, said_on: date) -> str | None:
    """A date, resolved against the day it was said."""
    found = resolve_day(words.strip(_END_MARKS), said_on, speech.code)
    return format_day(found, speech.code) if found else None


def yearly_day(words: str, speech: FactWords, said_on: date) -> str | None:
    """A date of every year, or with a past year; never a relative one."""
    kept = words.strip(_END_MARKS)
    found = resolve_day(kept, said_on, speech.code) if _DATE_SIGN.search(kept) else None
    if found is None or _AHEAD.match(kept) or (has_year(kept) and found >= said_on):
        return None
    return format_day(found, speech.code, year=has_year(kept))


def wish(words: str, speech: FactWords, said_on: date) -> str | None:
    """A goal, with its deadline resolved."""
    deadline = _DEADLINE.search(words)
    bare = thing(words[: deadline.start()] if deadline else words, speech)
    if bare is None or (" " not in bare and bare not in all_words("facts.whole_goals")):
        return None
    if not deadline:
        return bare
    until = resolve_day(deadline["day"], said_on, speech.code)
    if until is None:
        return None
    return f"{bare} {speech.deadline} {format_day(until, speech.code)}"


def without_deadline(words: str) -> str:
    """A goal without its deadline: the deadline may move, the goal stays the same."""
    return _DEADLINE_END.sub("", words)


def manner(words: str, speech: FactWords) -> str | None:
    """How a user learns best: "con gli schemi", "by watching videos"."""
    kept = _stripped(words, speech)
    head, _, rest = kept.partition(" ")
    checked = thing(rest, speech)
    return f"{head.lower()} {checked}" if checked else None


def trouble(words: str, speech: FactWords) -> str | None:
    """What a user struggles with: a subject or a skill, not current work."""
    kept = speech.trouble_leads.sub("", words.strip())
    return None if speech.passing_trouble.match(kept) else subject(kept, speech)


def proper_thing(words: str, speech: FactWords) -> str | None:
    """A thing with a proper name: "Lincoln High School", not "school"."""
    kept = thing(words, speech)
    return kept if kept and kept[0].isupper() else None


def titled(words: str, speech: FactWords) -> str | None:
    """A name after a title, or a capitalised name."""
    title = re.match(rf"(?:{speech.personal_titles})\.? ", words)
    name = proper_name(words[title.end() :] if title else words, speech)
    return f"{title[0] if title else ''}{name}" if name else None


def tongues(words: str, speech: FactWords) -> str | None:
    """Names of languages, capitalised as in English."""
    return re.sub(r"(?!and\b)\b[a-z]+", lambda match: match[0].capitalize(), words.strip(_END_MARKS).lower())


def counted(words: str, speech: FactWords) -> str | None:
    """Words from a closed list, in lower case and in the third person."""
    kept = " ".join(words.lower().split()).strip(_END_MARKS)
    return re.sub(r"[^\W\d_]+", lambda match: speech.turned.get(match[0], match[0]), kept) or None


def age(words: str, speech: FactWords) -> str | None:
    """A plausible age, in figures or in words ("settantotto")."""
    return words if not words.isdigit() or 4 <= int(words) <= 99 else None


def folded(words: str, speech: FactWords) -> str | None:
    """Words from a closed list, in lower case."""
    return " ".join(words.lower().split()).strip(" ,.") or None


def condition(words: str, speech: FactWords) -> str | None:
    """A condition by its noun, which needs no gender."""
    return speech.conditions.get(words.lower(), words.lower())


def trait(words: str, speech: FactWords) -> str | None:
    """A trait as a sentence without gender."""
    return speech.traits.get(words.lower())


def allergy(words: str, speech: FactWords) -> str | None:
    """ "allergica" becomes "Ha un'allergia"; the allergen is cleaned."""
    low = words.lower()
    for beginning, said in speech.allergies.items():
        if low.startswith(beginning):
            return said
    match = re.match(rf"((?:{speech.allergy_prepositions})\s?)(.+)", low)
    checked = thing(match[2], speech) if match else None
    return f"{match[1]}{checked}" if match and checked else None


def _stripped(words: str, speech: FactWords) -> str:
    kept = re.sub(r"[^\w\s'’/%°.+&-]+", " ", words)
    kept = " ".join(kept.replace("\u2019", "'").split()).strip(_END_MARKS)
    while match := speech.fillers.match(kept):
        kept = kept[match.end() :]
    kept = speech.cut.sub("", kept)
    while match := speech.endings.search(kept):
        kept = kept[: match.start()]
    return kept.strip(_END_MARKS)


Check = Callable[[str, FactWords, date], str | None]


def _timeless(check: Callable[[str, FactWords], str | None]) -> Check:
    return lambda words, speech, _: check(words, speech)


CHECKS: Mapping[str, Check] = {
    "thing": _timeless(thing),
    "taste": _timeless(taste),
    "subject": _timeless(subject),
    "person": _timeless(person_name),
    "proper": _timeless(proper_name),
    "place": _timeless(place),
    "proper place": _timeless(proper_place),
    "proper thing": _timeless(proper_thing),
    "titled": _timeless(titled),
    "manner": _timeless(manner),
    "trouble": _timeless(trouble),
    "tongues": _timeless(tongues),
    "counted": _timeless(counted),
    "year": _timeless(counted),
    "age": _timeless(age),
    "condition": _timeless(condition),
    "trait": _timeless(trait),
    "allergy": _timeless(allergy),
    "folded": _timeless(folded),
    "day": day,
    "yearly": yearly_day,
    "wish": wish,
}
