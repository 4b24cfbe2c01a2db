"""What a question begins with and a title does not: greetings, requests, articles; and orders given to a model.

Written as phrases of both languages, divided by commas, and made into patterns once.
"""

import re


def _any(*tables: str) -> str:
    """One pattern for all phrases, the longest first."""
    phrases = {" ".join(phrase.split()) for table in tables for phrase in table.split(",")}
    return "|".join(sorted(map(re.escape, phrases - {""}), key=lambda phrase: (-len(phrase), phrase)))


_GREETINGS = _any(
    """ciao, salve, buongiorno, buonasera, ehi, ehilà, scusa, scusami, scusi, per favore, per piacere, allora, senti,
    dunque, grazie, hi, hi there, hello, hey, good morning, good evening, good afternoon, please, ok, okay, so, well,
    thanks, thank you"""
)
_MODALS = _any("puoi, potresti, può, potrebbe, sai, sapresti, mi puoi, mi potresti, mi sai, mi sapresti")
_ITALIAN_ASKED = _any(
    """spiegarmi, spiegare, dirmi, dire, aiutarmi, aiutarmi con, aiutarmi a, aiutarmi ad, parlarmi, parlare,
    raccontarmi, farmi vedere, descrivermi, descrivere, fare"""
)
_ENGLISH_ASKED = _any(
    """explain, tell me, describe, show me, give me, help me, help me with, help me to, summarise, summarize, list"""
)
_REQUESTS = _any(
    """mi spieghi, mi dici, mi aiuti, mi aiuti con, mi aiuti a, mi parli, mi racconti, mi fai vedere, spiegami, spiega,
    dimmi, parlami, raccontami, descrivimi, descrivi, elencami, elenca, riassumimi, riassumi, aiutami, aiutami con,
    aiutami a, fammi, dammi, vorrei sapere, vorrei capire, vorrei parlare, vorrei imparare, voglio sapere,
    voglio capire, ho bisogno di, ho bisogno di aiuto con, mi serve, cosa, cosa sono, cos'è, cos’è, cosa è, che cosa,
    che cos'è, che cos’è, qual è, quali sono""",
    """i'd like to know, i'd like to understand, i would like to know, i would like to understand, i want to know,
    i want to understand, i want to learn, i need to know, i need to understand, i need help with, i'd like,
    i would like, what's, what’s, what is, what are, what was, what were""",
)
_LINKS = _any("di, del, dello, della, dei, degli, delle, about, to me")
_ORDERS = _any(
    """ignora, ignorare, ignorate, dimentica, scorda, fingi, comportati come, sei ora, sei adesso, d'ora in poi,
    prompt di sistema, nuove istruzioni, istruzioni precedenti, rivela, ripeti dopo, il titolo è, il titolo deve,
    intitola""",
    """ignore, disregard, override, bypass, jailbreak, forget, pretend, act as, you are now, from now on, system prompt,
    developer mode, instruction, instructions, reveal, repeat after me, must say, must answer, must reply,
    must respond, title is, title must, title should, set the title, make the title, change the title, title this""",
)
_MARKS = r"<\|\w+\|>|</?(?:s|sys|system|user|assistant|instructions?)>|\[/?inst\]"
_ROLES = r"^\s*(?:system|assistant|user|sistema|assistente|utente)\s*:"

GREETING = re.compile(rf"(?:{_GREETINGS})\b[\s,!.;:–-]*", re.IGNORECASE)
REQUEST = re.compile(
    rf"(?:(?:{_MODALS})\s(?:{_ITALIAN_ASKED})|(?:can|could|would|will)\syou\s(?:please\s)?(?:{_ENGLISH_ASKED})"
    rf"|{_ENGLISH_ASKED}|{_REQUESTS})(?=[\s,:]|$)[\s,:]*(?:(?:{_LINKS})\s+|dell['’])?",
    re.IGNORECASE,
)
ARTICLE = re.compile(r"(?:(?:il|lo|la|i|gli|le|un|uno|una|the|a|an)\s+|(?:l|un)['’])", re.IGNORECASE)
ORDER = re.compile(rf"\b(?:{_ORDERS})\b|{_MARKS}|{_ROLES}", re.IGNORECASE | re.MULTILINE)
