"""Whether a model's claim says no more, and nothing else, than the words it quotes: how made-up facts are kept out.

A candidate goes in; a reason to refuse it comes out, or nothing. A model may phrase, it may not add: the quote must
stand where its writer plainly states something of themselves, and every telling word of the claim must have been said
there, with the same yes or no. A right claim that is missed costs less than a wrong one that is believed.
"""

import re
from datetime import UTC, tzinfo

from ricordo.facts.candidate import Candidate
from ricordo.facts.clauses import clauses, plain
from ricordo.facts.dates import PHRASE, day_named, day_of
from ricordo.facts.sameness import FRAMES, is_negative
from ricordo.followups.language import words as word_table
from ricordo.recall.words import Language, fold, stems, tokens

_STEM = 4  # letters that two forms of one word share: "allergico" and "allergia", "Anna's" and "Anna"
_NAME_LIKE = re.compile(r"(?<!^)(?<![.!?] )\b[A-ZÀ-Ý][\w'-]+")
_WORDING = FRAMES | word_table(
    "called chiamato chiamata years old anni age eta native madre madrelingua school year class classe grade favourite "
    "favorite preferenza preferito preferita preferiti preferite plays play suona pratica tifa segue dieta condition "
    "finds trova hard difficult difficile difficili passione appassionato comes originally originario originaria lives "
    "resides living studying studies attends working works job lavoro professione birthday compleanno having goal "
    "currently attualmente dichiara states says that loves dislikes hates favours "
)
_DENIED = re.compile(
    r"\b(?:non|mai|neanche|nemmeno|mica|nessun\w*|senza|odi[oa]|detest[oa]|sopport[oa]|schifo|annoia\w*|not|never|no|nor|"
    r"neither|hardly|barely|without|dislikes?|hates?|detests?|stand|bear|longer|cannot)\b|n't\b"
)
_NO_TROUBLE = re.compile(
    r"\b(?:non (?:ho(?! (?:ancora |mai )?capito)|faccio|mi (?:sembra|risulta))|no longer|non .*\bpiu|"
    r"(?:do not|don't|never) (?:have|find|struggle)|"
    r"(?:not|without|no|hardly|barely) (?:struggl\w+|hav\w+|trouble|problems?|difficult\w+)|"
    r"(?:ora|adesso|finalmente|ormai|now|finally)\b.*(?<!non )(?<!n't )\b(?:capi\w+|chiar\w+|underst\w+|get|got))\b"
)
_ONCE_OR_SOME_DAY = re.compile(
    r"\b(?:lived|worked|studied|liked|was(?! born)|were|vivevo|abitavo|lavoravo|studiavo|ero|voglio|vorrei|spero|sogno|"
    r"want|wish|hope|plan|dream|going to|will|vivro|andro|diventero|saro)\b|'ll\b"
)
_NAMING = re.compile(r"\b(?:chiam\w+|nome|name\w*|call\w*|nick\w*|soprannom\w+|sono|i'm|im|i am|this is)\b")
_SOMEBODY_ELSE = re.compile(
    r"\W*(?:(?:(?:il|la|i|le|un|una|a|the|one of)\s+)?(?:mi[oae]|miei|my|our|nostr[oa])\s+"
    r"(?:(?:best|little|big|old|older|younger|twin|miglior|new)\s+)?(?:"
    r"amic\w+|sorell\w+|fratell\w+|madre|padre|mamma|papa|nonn\w+|zi[oa]|cugin\w+|figli\w*|marito|moglie|compagn\w+|prof\w*|"
    r"ragazz[oa]|capo|collega|vicin[oa]|maestr[oa]|cane|gatt[oa]|friend\w*|sister\w*|brother\w*|mother|father|mom|mum|dad|"
    r"grand\w+|uncle|aunt|cousin\w*|son|daughter|husband|wife|boyfriend|girlfriend|partner|teacher|boss|neighbou?r|"
    r"roommate|classmate|colleague|dog|cat)|he|she|they|you|lui|lei|loro|tu)\b"
)


def unfounded(candidate: Candidate, zone: tzinfo = UTC) -> str:
    """Why a claim is not what its writer said; empty when it is. `zone` tells on which day they said it."""
    spoken = _spoken(candidate.quote, candidate.said.text)
    if not spoken:
        return "quotes what the user did not state of themselves"
    kind, text, statement = candidate.kind, fold(candidate.text), fold(" , ".join(spoken))
    if kind != "relation" and any(_SOMEBODY_ELSE.match(fold(each)) for each in spoken):
        return "tells of somebody else"
    if kind == "name" and not _NAMING.search(statement):
        return "takes for a name what is none"
    if kind in ("place", "other", "preference") and _ONCE_OR_SOME_DAY.search(statement):
        return "tells as true what was once or may be"
    if kind == "difficulty":
        if (_NO_TROUBLE.search(statement) is not None) != is_negative(kind, text):
            return "turns a difficulty round"
    elif (_DENIED.search(statement) is not None) != (_DENIED.search(text) is not None):
        return "turns yes and no round"
    if not _heard(candidate):
        return "adds what was not said"
    return "" if _same_day(candidate, zone) else "names another day"


def _spoken(quote: str, text: str) -> list[str]:
    """The clauses that a quote touches, if it begins and ends in clauses of a plain statement."""
    flat, wanted = plain(text), plain(quote).strip(" \t,.;:!?…-–—()*_")
    stated = clauses(text)
    start = flat.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        touched = [each for each in stated if each.start < end and start < each.end]
        if touched and touched[0].start <= start and end <= touched[-1].end:
            return [flat[each.start : each.end] for each in touched]
        start = flat.find(wanted, start + 1)
    return []


def _heard(candidate: Candidate) -> bool:
    """Whether each telling word of a claim was said, in some form; names and numbers letter by letter.

    A day may have been worked out, and is looked at apart.
    """
    dated = candidate.kind in ("date", "goal")
    text = re.sub(rf"\b(?:{PHRASE})", " ", candidate.text, flags=re.IGNORECASE) if dated else candidate.text
    language: Language = "it" if candidate.language == "it" else "en"
    said = set(tokens(plain(candidate.said.text)))
    begun = {word[:_STEM] for word in said}
    names = {word for match in _NAME_LIKE.findall(text) for word in tokens(match)}
    for word in tokens(text):
        whole = word in names or any(c.isdigit() for c in word)
        if (
            word not in _WORDING
            and stems(word, language)
            and (word if whole else word[:_STEM]) not in (said if whole else begun)
        ):
            return False
    return True


def _same_day(candidate: Candidate, zone: tzinfo) -> bool:
    """Whether the day of a claim is the one that its quote names, where both name one."""
    named = re.search(rf"\b(?:{PHRASE})", candidate.quote, re.IGNORECASE)
    told = day_named(candidate.text)
    if not named or not told or candidate.about == "date:birthday":
        return True
    meant = day_of(named[0], candidate.said.created_at.astimezone(zone).date(), candidate.language)
    return meant is None or meant == told
