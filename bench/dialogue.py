"""Talks of ordinary length in Italian and English, for figures that depend on what is said: topics, vectors, archive.

In: a number and how many turns. Out: questions and answers that stay with a subject for a few turns and then change
it, every other talk in the other language. Sentences are put together by chance, so that no two talks are the same.
"""

import random
from collections.abc import Iterator

# For each language: subjects, each with the things that are asked about it.
_SUBJECTS = {
    "it": {
        "il pane fatto in casa": (
            "la lievitazione",
            "il forno",
            "la farina integrale",
            "la crosta",
            "il lievito madre",
        ),
        "il viaggio a Lisbona": (
            "il volo",
            "l'albergo in centro",
            "il tram 28",
            "le spiagge vicine",
            "il tempo a marzo",
        ),
        "la tesi di laurea": ("l'introduzione", "la bibliografia", "il relatore", "i grafici", "la scadenza di luglio"),
        "il mal di schiena": ("la postura", "gli esercizi", "la sedia nuova", "il fisioterapista", "il nuoto"),
        "il cane Argo": ("le passeggiate", "il veterinario", "le crocchette", "il guinzaglio", "la paura dei tuoni"),
        "la bolletta della luce": ("il contatore", "le fasce orarie", "il conguaglio", "il fornitore", "i pannelli"),
    },
    "en": {
        "the vegetable garden": ("the tomatoes", "watering in August", "the compost heap", "slugs", "raised beds"),
        "learning the guitar": ("barre chords", "the metronome", "new strings", "the recital in May", "tuning by ear"),
        "the move to Leeds": ("the removal van", "the deposit", "the school nearby", "the old sofa", "broadband"),
        "the budget spreadsheet": (
            "the monthly totals",
            "the chart",
            "shared access",
            "last year's figures",
            "rounding",
        ),
        "marathon training": ("the long run", "knee pain", "new shoes", "what to eat before", "the training plan"),
        "Grandma's birthday": ("the cake", "the guest list", "the photo album", "a quiet restaurant", "the present"),
    },
}
_ASKED = {
    "it": (
        "Parliamo di {subject}: che cosa mi consigli per {thing}?",
        "Per {subject}, come mi regolo con {thing}? Finora ho fatto di testa mia.",
        "E {thing}? Mi sembra la parte più difficile di {subject}, ma forse esagero.",
        "Ho letto pareri diversi su {thing}; tu da dove cominceresti?",
    ),
    "en": (
        "Let's talk about {subject}: what would you do about {thing}?",
        "With {subject}, how should I handle {thing}? So far I have only guessed.",
        "And {thing}? It feels like the hardest part of {subject}, but maybe I worry too much.",
        "I have read different opinions on {thing}; where would you begin?",
    ),
}
_ANSWERED = {
    "it": (
        "Per {thing} conviene cominciare con calma e segnare su un foglio quello che provi.",
        "La cosa più importante è non cambiare tutto insieme: prova una volta sola alla settimana.",
        "Molti trascurano {other}, che invece conta quasi quanto {thing}.",
        "Se dopo {number} giorni non vedi differenze, torna a quello che facevi prima.",
        "Di solito bastano {number} minuti, meglio la mattina quando c'è più tranquillità.",
        "Chi ha esperienza di {subject} direbbe lo stesso, con qualche cautela in più.",
    ),
    "en": (
        "For {thing} it pays to start slowly and to write down what you try.",
        "The main point is not to change everything at once: one experiment a week is plenty.",
        "Many people forget {other}, which matters nearly as much as {thing}.",
        "If nothing is different after {number} days, go back to what you did before.",
        "Usually {number} minutes are enough, best in the morning when it is quiet.",
        "Anybody who knows {subject} would say the same, with a little more caution.",
    ),
}


def talk(number: int, turns: int) -> Iterator[tuple[str, str]]:
    """The turns of one talk; even numbers are Italian."""
    chance, language = random.Random(number), "en" if number % 2 else "it"
    subjects = _SUBJECTS[language]
    subject, left = "", 0
    for _ in range(turns):
        if not left:
            subject = chance.choice([name for name in subjects if name != subject])
            left = chance.randint(3, 8)
        left -= 1
        thing, other = chance.sample(subjects[subject], 2)
        said = {"subject": subject, "thing": thing, "other": other}
        question = chance.choice(_ASKED[language]).format(**said)
        sentences = chance.sample(_ANSWERED[language], chance.randint(2, 6))
        yield question, " ".join(each.format(number=chance.randint(2, 90), **said) for each in sentences)
