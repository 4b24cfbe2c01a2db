"""A message as the clauses in which its writer may be telling something of themselves.

A text goes in, spans of it come out. Everything that is not the writer's own plain statement is left out first: code,
quotations, pasted passages and transcripts, our own headers, questions, hypotheses, reported speech, role play.
What remains is cut where a new statement begins, so that a pattern need only look at the beginning of a clause.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from ricordo.languages.locales import LOCALES, MEMORY_WORDS

LONGEST_SENTENCE = 200
_LONGEST_READ = 2_000  # whoever writes more pastes it
_MASK = "\ufffc"


@dataclass(frozen=True, slots=True)
class Clause:
    """A span of the message. `greeted`: right after a greeting, where "I'm Anna" is a name and not a mood."""

    start: int
    end: int
    greeted: bool = False


def _any(table: str) -> str:
    return "|".join(line.strip() for line in table.strip().split("/"))


# A message that works on a text, plays a part or tells a story: no sentence of it is sure to be about its writer.
_NOT_ONESELF = re.compile(
    r"\b(?:"
    + _any(r"""
    traduci\w*/traduzione/correggi\w*/correzione/riassumi\w*/analizza\w*/parafrasa\w*/riscrivi\w*/completa la/
    completa le/
    scrivi\w*/inventa\w*/componi\w*/ripeti\w*/recita\w*/ facciamo finta/ fai finta/far finta/facendo finta/
    fingi\w*/immagina(?:mo|ti|te|re)?/
    supponi\w*/gioco di ruolo/giochiamo a/interpreto/interpretiamo/interpreta/personaggio/protagonista/
    c'era una volta/nel racconto/nella storia/
    nei panni/mettiti nei/il mio pg/il mio eroe/in questa storia/ho sognato/
    translat\w+/proofread\w*/summari[sz]\w+/rewrit\w+/paraphras\w+/analy[sz]e/rephrase/correct (?:this|my|the)/
    fix (?:this|my|the)/
    complete the/check my/write (?:a|an|me|my|the|this|about)/make up/repeat after/pretend\w*/imagine/suppose/
    role-?\s?play\w*/act as/
    acting as/my character/the character/protagonist/narrator/once upon a time/in this story/in the story/in my story/
    short story/i dreamed/i dreamt/let's say/cover letter/
    ignore (?:all|any|the|your|every|previous)/ignora (?:tutt\w+|le|ogni|qualsiasi)/system prompt/
    prompt di sistema/jailbreak
    """)
    + r")\b",
    re.IGNORECASE,
)
# Sentences that do not state: hypotheses, examples, what others say, what was once, what is not sure.
_NOT_STATED = re.compile(
    r"\b(?:"
    + _any(r"""
    se/qualora/casomai/magari/forse/ad esempio/per esempio/esempio/come se/fossi/avessi/chiamassi/vivessi/
    abitassi/piacesse/mettiamo che/
    poniamo/ipotizz\w+/scherz\w+/sembra che/pare che/non è vero/non e' vero/è falso/credi che/pensi che/
    dice/dicono/diceva/disse/detto che/dicendo/racconta\w*/risponde/secondo (?:te|lui|lei|loro|mi[ao]|il|la)/
    scrive/scrisse/canta/cita\w*/
    si dice/vuol dire/significa/la frase/la parola/il verso/
    if/unless/maybe/perhaps/possibly/probably/for example/for instance/e\.g/example/as if/were/
    would(?! like to)/hypothetical\w*/joking/kidding/
    not true/it's false/you think/do you/say/says/said/saying/tells/told/telling/asked/writes/wrote/
    according to/quote\w*/means/
    the sentence/the phrase/the word/the lyrics/sings/used to/whether
    """)
    + r")\b|^\s*[-*]?\s*(?:perch[eé]'?|come|cosa|che cosa|chi|dove|quando|quanto|quant[ie]|quale?|quali|"
    r"posso|puoi|potresti|"
    r"sai|mi sapresti|what|why|how|where|when|who|which|can|could|should|shall|do|does|did|is|are|am|will|"
    r"has|have)\b",
    re.IGNORECASE,
)
# What takes back all that stands before it, and openings that say the opposite of what follows.
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?…;,(\n]|\s[-–—])\s*(?:(?:no|ma|but|ahah\w*|haha\w*|ok|oh)[\s,]+)*(?:"
    r"scherz(?:o|avo|etto)|sto scherzando|ti prendo in giro|non è vero|non e' vero|macché|ma quando mai|"
    r"(?:i'm |i am |i was |just |only )*(?:kidding|joking)|jk|not really|psych|that's not true|that's a lie|"
    r"yeah right|oh sure|as if|come no|figurati|sì come no|si come no)\b(?!\s+(?:che|that|sure|about|into|a)\b)",
    re.IGNORECASE,
)
_TAG_QUESTION = re.compile(
    r"\s*(?:vero|giusto|no|ok|o no|o sbaglio|sbaglio|non credi|non trovi|sai|right|correct|yes|true|innit|"
    r"you know|or not|"
    r"isn't it|don't i|am i|do i|secondo te)\s*",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\s*(?:ciao|salve|buon ?giorno|buona ?sera|hey|ehi|ehilà|piacere|hi|hello|good (?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
_MASKED = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|„[^“”]*(?:[“”]|\Z)"
    r"|(?<![\w'])'[^'\n]+(?:'[^'\n]+)*'(?!\w)|^[ \t]*[>|][^\n]*|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_OWN_LINES = tuple(
    sorted(
        {
            re.escape(getattr(locale, name).split("{")[0].strip())
            for locale in LOCALES.values()
            for name in (
                "user_label", "assistant_label", "system_label", "tool_label", "history_header", "history_footer",
                "no_history", "summary_header", "recalled_header", "chunks_header", "question_header",
            )
        }
    )
)  # fmt: skip
# From such a line on a message is pasted: a heading, a transcript, a fence, one of our own headers.
_PASTED = re.compile(
    r"^[ \t]*(?:#{1,6} |={3,}|<{2,}|>{2,}|</?[a-z][\w-]*\W|\[/?[A-Z_]{3,}|-{5,}BEGIN|"
    + "|".join(_OWN_LINES)
    + r"|ISTRUZIONI\b|INSTRUCTIONS\b"
    r"|(?:user|utente|assistant|assistente|system|sistema|human|ai|bot|tutor|studente?|student|insegnante|"
    r"teacher|me|io|"
    r"q|a|d|r)\s?:\s)",
    re.IGNORECASE | re.MULTILINE,
)
# Our own headings and fences, wherever they stand: what is behind them came from memory.
_OWN_BLOCK = re.compile(
    "|".join(
        re.escape(heading.strip("# "))
        for words in MEMORY_WORDS.values()
        for heading in (words.title, words.last_session, words.facts, words.topics, words.instructions)
    )
    + r"|<<[^\n<>]{0,40}>>",
    re.IGNORECASE,
)
# What follows a colon is material ("Traduci: …"), unless the writer introduces themselves before it.
_COLON = re.compile(r":(?=\s|\Z)")
_ABOUT_ONESELF = re.compile(
    r"(?:\bdi me|\bmi presento|\bpresentazione|\babout me|\babout myself|\bintroduction|\bmyself|\bfyi|\bnota)\s*\Z",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"(?<!\bprof)(?<!\bsig)(?<!\bdott)(?<!\bdr)(?<!\bmr)(?<!\bmrs)(?<!\bst)[.!?…;]+(?=\s|\Z)|\n", re.I
)
_STARTS_IT = (
    r"io|mi|non|ho|sono|vivo|abito|vengo|studio|frequento|faccio|voglio|vorrei|spero|adoro|amo|odio|"
    r"detesto|preferisco|"
    r"parlo|lavoro|compio|mio|mia|il mio|la mia|anche|poi|tifo|vado|devo|sto|sogno|puoi|potresti"
)
_STARTS_EN = r"i|i'm|im|i've|i'd|my|we|you|he|she|they|it|can you|could you|please"
_CUT = re.compile(
    rf"\s*,\s*|\s+[-–—]\s+|\s*[()\[\]]\s*|\s+(?:e|ed|o|poi)\s+(?=(?:{_STARTS_IT})\b)|\s+(?:and|so|then|"
    rf"or)\s+(?=(?:{_STARTS_EN})\b)"
    r"|\s+(?:ma|però|pero'|bensì|invece|mentre|quindi|perciò|anche se|sebbene|tuttavia|perch[eé]'?|"
    r"siccome|dato che|poiché|"
    r"but|because|although|though|however|while|whereas|since|cause|cuz)\s+",
    re.IGNORECASE,
)


@lru_cache(maxsize=32)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text in which its writer speaks plainly, in order."""
    flat = plain(text)
    if not flat.strip() or _NOT_ONESELF.search(flat) or _TAKEN_BACK.search(flat):
        return ()
    found: list[Clause] = []
    greeted = _GREETING.match(flat) is not None
    for number, (start, end, asks) in enumerate(_sentences(flat)):
        sentence = flat[start:end]
        if end - start > LONGEST_SENTENCE or _NOT_STATED.search(sentence):
            continue
        parts = _cut(flat, start, end)
        if asks:
            # "Mi chiamo Anna, mi aiuti?" states first and asks then; "Mi chiamo Anna, vero?" only asks.
            last = flat[parts[-1].start : parts[-1].end]
            parts = [] if _TAG_QUESTION.fullmatch(last) else parts[:-1]
        found.extend(
            Clause(part.start, part.end, greeted and number < 2)
            for part in parts
            if _MASK not in flat[part.start : part.end]
        )
    return tuple(found)


@lru_cache(maxsize=32)
def plain(text: str) -> str:
    """The text with everything hidden that its writer did not plainly say, each character where it was.

    Pasted material is cut off; hidden spans become object marks, which no pattern and no quote can hold.
    """
    flat = text[:_LONGEST_READ].replace("\u2019", "'").replace("\u02bc", "'").replace("\u00a0", " ")
    if len(text) > _LONGEST_READ:
        flat = flat[: flat.rfind("\n") + 1]
    flat = _MASKED.sub(lambda match: _MASK * len(match[0]), flat)
    for material in (_OWN_BLOCK, _PASTED):
        pasted = material.search(flat)
        if pasted:
            flat = flat[: pasted.start()]
    for colon in _COLON.finditer(flat):
        if not _ABOUT_ONESELF.search(flat[: colon.start()]):
            opening = max(flat.rfind(mark, 0, colon.start()) for mark in "\n.!?;") + 1
            return flat[:opening]
    return flat


def _sentences(flat: str) -> list[tuple[int, int, bool]]:
    """Start, end, and whether it asks."""
    found, start = [], 0
    for match in (*_SENTENCE_END.finditer(flat), None):
        end = match.start() if match else len(flat)
        if flat[start:end].strip():
            found.append((start, end, match is not None and "?" in match[0]))
        start = match.end() if match else end
    return found


def _cut(flat: str, start: int, end: int) -> list[Clause]:
    found = []
    for match in (*_CUT.finditer(flat, start, end), None):
        stop = match.start() if match else end
        if flat[start:stop].strip():
            found.append(Clause(start, stop))
        start = match.end() if match else stop
    return found
