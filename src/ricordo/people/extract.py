"""Facts without a model: a user message goes in, the claims that its writer makes of themselves come out.

Both languages are tried on every clause, so nobody has to guess one; a clause gives at most one claim. Days are worked
out in the writer's time zone from when the message was written.
"""

from datetime import UTC, date, tzinfo

from ricordo.languages.facts_base import Pattern, Tongue
from ricordo.languages.facts_english import TONGUE as ENGLISH
from ricordo.languages.facts_italian import TONGUE as ITALIAN
from ricordo.people.admission import Claim, UserMessage, refusal
from ricordo.people.clauses import clauses, plain
from ricordo.people.objects import CHECKS, SPEECH, without_deadline
from ricordo.people.sameness import about_thing

TONGUES: tuple[Tongue, ...] = (ITALIAN, ENGLISH)


def extract(said: UserMessage, zone: tzinfo = UTC) -> tuple[Claim, ...]:
    """The claims of one message, in the order they were made; of two about one thing the last."""
    flat = plain(said.text)
    tongues = [tongue for tongue in TONGUES if tongue.sign.search(flat)]
    if not tongues:
        return ()
    said_on = said.created_at.astimezone(zone).date()
    found: dict[str, Claim] = {}
    for clause in clauses(said.text):
        candidate = _first(flat, clause.start, clause.end, clause.greeted, tongues, said, said_on)
        if candidate is None:
            continue
        key = candidate.about or candidate.text
        found.pop(key, None)
        found[key] = candidate
    return tuple(found.values())


def _first(
    flat: str, start: int, end: int, greeted: bool, tongues: list[Tongue], said: UserMessage, said_on: date
) -> Claim | None:
    while start < end and not flat[start].isalnum():
        start += 1
    while start < end and flat[end - 1] in " \t,.!*_-–—)":
        end -= 1
    for tongue in tongues:
        if not tongue.sign.search(flat, start, end):
            continue
        lead = tongue.lead.match(flat, start, end)
        # "Adesso capisco…" needs its first word, "Ciao mi chiamo…" does not: with it first, then without.
        for begin in (start, lead.end()) if lead else (start,):
            for pattern in tongue.patterns:
                if pattern.greeted and not greeted:
                    continue
                match = pattern.regex.fullmatch(flat, begin, end)
                if match:
                    quote = said.text[begin:end]
                    candidate = _claim(pattern, match.groupdict(), quote, tongue.code, said, said_on)
                    if candidate is not None:
                        return candidate
    return None


def _claim(
    pattern: Pattern, groups: dict[str, str | None], quote: str, language: str, said: UserMessage, said_on: date
) -> Claim | None:
    filled = {}
    for name, check in (("x", pattern.x), ("y", pattern.y)):
        words = groups.get(name)
        if words is None:
            continue
        checked = CHECKS[check](words, SPEECH[language], said_on)
        if not checked:
            return None
        filled[name] = checked
    text = pattern.text.format(**filled).replace("' ", "'")
    text = text[0].upper() + text[1:]
    candidate = Claim(pattern.kind, text, _about(pattern, filled, language), quote, language, said, pattern.confidence)
    return None if refusal(candidate) else candidate


def _about(pattern: Pattern, filled: dict[str, str], language: str) -> str:
    prefix, brace, name = pattern.about.partition(":{")
    if not brace:
        return pattern.about
    return about_thing(prefix, pattern.kind, without_deadline(filled[name[0]]), language)
