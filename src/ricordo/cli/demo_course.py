"""The demo's material: a small course on bread, and a talk about it over some days, in Italian and in English.

Only data: what a tutor's students might say, and the passages that a retriever would offer.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ricordo.records.turns import Chunk


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """A question, its answer, what the answer cites, and how long ago it was."""

    query: str
    response: str
    chunk_ids: tuple[str, ...] = ()
    days_ago: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """A course, a talk about it, and questions that only make sense with the talk in mind."""

    title: str
    safety: str
    system: str
    earlier: SampleTurn  # in another session
    talk: tuple[SampleTurn, ...]
    follow_up: SampleTurn
    found: tuple[Chunk, ...]  # for the follow-up, best first
    remember: SampleTurn  # needs what was said in the other session
    choice: SampleTurn
    unclear: str  # after the choice, either may be meant
    which: str  # the answer to being asked which
    another: str  # a follow-up to try oneself


ITALIAN = Sample(
    title="Corso di pane",
    safety="Per allergie e celiachia rimanda sempre a un medico.",
    system="Sei il tutor di un corso di panificazione. Rispondi con il materiale del corso e cita la fonte.",
    earlier=SampleTurn(
        "Il mio forno arriva solo a 220 gradi: posso fare il pane lo stesso?",
        "Sì: scalda bene una pietra refrattaria e cuoci dieci minuti in più.",
        days_ago=20,
    ),
    talk=(
        SampleTurn(
            "Ciao! Quando si tiene l'esame finale del corso, e in quale aula?",
            "Sabato alle 10, in aula 3. Porta un documento d'identità.",
            days_ago=6,
        ),
        SampleTurn(
            "Come ci si iscrive?",
            "Sul sito della scuola, entro mercoledì; la conferma arriva per posta elettronica.",
            days_ago=6,
        ),
        SampleTurn(
            "Ciao! Come si tiene in vita il lievito madre quando si va in vacanza per due settimane?",
            "Rinfrescalo con poca acqua, perché sia sodo, e lascialo in frigorifero in un vasetto chiuso: due "
            "settimane le regge bene.",
            ("pane-01",),
            days_ago=2,
        ),
        SampleTurn(
            "Ciao! Oggi vorrei fare il pane in casa: quali sono le fasi, dall'inizio alla fine?",
            "Sono quattro:\n"
            "1. Autolisi: farina e acqua riposano insieme\n"
            "2. Puntata: l'impasto lievita in massa\n"
            "3. Appretto: le forme lievitano da sole\n"
            "4. Cottura: in forno molto caldo, con vapore",
            ("pane-02",),
        ),
        SampleTurn(
            "Quanto dura l'autolisi?",
            "Da mezz'ora a due ore. Più la farina è forte, più il riposo può essere lungo.",
            ("pane-03",),
        ),
        SampleTurn(
            "A che temperatura deve essere l'acqua?",
            "Fresca d'estate, tiepida d'inverno: l'impasto finito dovrebbe stare sui 24 °C.",
            ("pane-09",),
        ),
        SampleTurn(
            "Quando si aggiunge il sale?",
            "Dopo l'autolisi, con un goccio d'acqua: prima rallenterebbe la formazione del glutine.",
            ("pane-03",),
        ),
    ),
    follow_up=SampleTurn(
        "Approfondisci il punto 2",
        "La puntata è la lievitazione in massa, prima di formare i pani. A 24 °C dura circa quattro ore, con due o "
        "tre giri di pieghe nella prima metà. È finita quando l'impasto è cresciuto di metà e trema se lo scuoti.",
        ("pane-04", "pane-07"),
    ),
    found=(
        Chunk(
            "pane-04",
            "Puntata. L'impasto intero lievita in un contenitore coperto: circa quattro ore a 24 °C, otto a 18 °C. "
            "Nella prima metà si danno due o tre giri di pieghe, che lo rinforzano senza sgonfiarlo.",
        ),
        Chunk(
            "pane-07",
            "Segnali. La puntata è finita quando il volume è cresciuto di circa la metà, i bordi sono bombati e "
            "l'impasto trema scuotendo il contenitore. Il tempo sull'orologio conta meno di questi segnali.",
        ),
        Chunk(
            "pane-02",
            "Le fasi. Il pane a lievitazione naturale passa per autolisi, puntata, appretto e cottura. Tra puntata e "
            "appretto l'impasto si divide e si forma.",
        ),
        Chunk(
            "pane-05",
            "Appretto. Le forme riposano nei cestini, un'ora a temperatura ambiente o una notte in frigorifero, che dà "
            "più aroma e rende i tagli più facili.",
        ),
        Chunk(
            "pane-06",
            "Cottura. Forno a 250 °C con vapore per i primi venti minuti, poi 220 °C senza vapore finché la crosta è "
            "ambrata e il fondo suona vuoto.",
        ),
        Chunk(
            "pane-03",
            "Autolisi. Farina e acqua riposano da mezz'ora a due ore prima del lievito e del sale: il glutine comincia "
            "a formarsi senza lavoro.",
        ),
        Chunk(
            "pane-08", "Conservazione. Il pane intero si tiene tre giorni in un panno di cotone; affettato, si gela."
        ),
    ),
    remember=SampleTurn(
        "Ti ricordi a quanti gradi arriva il mio forno?",
        "A 220 gradi: per questo conviene scaldare bene la pietra e cuocere dieci minuti in più.",
    ),
    choice=SampleTurn(
        "Per la cottura conviene la pietra refrattaria o la pentola di ghisa?",
        "Vanno bene entrambe: la prima per più pani insieme, la seconda perché trattiene il vapore.",
        ("pane-06",),
    ),
    unclear="Dove la compro?",
    which="la seconda",
    another="E il punto 3?",
)


ENGLISH = Sample(
    title="Bread course",
    safety="For allergies and coeliac disease always refer to a doctor.",
    system="You are the tutor of a baking course. Answer from the course material and cite the source.",
    earlier=SampleTurn(
        "My oven only reaches 220 degrees: can I bake bread all the same?",
        "Yes: heat a baking stone well and bake for ten minutes longer.",
        days_ago=20,
    ),
    talk=(
        SampleTurn(
            "Hello! When is the final exam of the course, and in which room?",
            "Saturday at 10, in room 3. Bring an identity card.",
            days_ago=6,
        ),
        SampleTurn(
            "How does one register?",
            "On the school's site, by Wednesday; the confirmation comes by email.",
            days_ago=6,
        ),
        SampleTurn(
            "Hello! How do I keep my sourdough starter alive when I am on holiday for two weeks?",
            "Feed it with little water, so that it is firm, and leave it in the fridge in a closed jar: it stands two "
            "weeks well.",
            ("bread-01",),
            days_ago=2,
        ),
        SampleTurn(
            "Hello! Today I want to bake bread at home: what are the stages, from beginning to end?",
            "There are four:\n"
            "1. Autolyse: flour and water rest together\n"
            "2. Bulk rise: the whole dough ferments\n"
            "3. Proof: the shaped loaves rise on their own\n"
            "4. Bake: in a very hot oven, with steam",
            ("bread-02",),
        ),
        SampleTurn(
            "How long is the autolyse?",
            "From half an hour to two hours. The stronger the flour, the longer it may rest.",
            ("bread-03",),
        ),
        SampleTurn(
            "How warm should the water be?",
            "Cool in summer, lukewarm in winter: the finished dough should be at about 24 °C.",
            ("bread-09",),
        ),
        SampleTurn(
            "When is the salt added?",
            "After the autolyse, with a little water: before, it would slow the gluten down.",
            ("bread-03",),
        ),
    ),
    follow_up=SampleTurn(
        "Tell me more about point 2",
        "The bulk rise is the fermentation of the whole dough, before shaping. At 24 °C it takes about four hours, "
        "with two or three rounds of folds in the first half. It is done when the dough has grown by half and wobbles.",
        ("bread-04", "bread-07"),
    ),
    found=(
        Chunk(
            "bread-04",
            "Bulk rise. The whole dough ferments in a covered box: about four hours at 24 °C, eight at 18 °C. In the "
            "first half it gets two or three rounds of folds, which strengthen it without knocking out the gas.",
        ),
        Chunk(
            "bread-07",
            "Signs. The bulk rise is done when the volume has grown by about half, the edges are domed and the dough "
            "wobbles when the box is shaken. The clock matters less than these signs.",
        ),
        Chunk(
            "bread-02",
            "The stages. Naturally leavened bread goes through autolyse, bulk rise, proof and bake. Between bulk rise "
            "and proof the dough is divided and shaped.",
        ),
        Chunk(
            "bread-05",
            "Proof. The loaves rest in their baskets, an hour at room temperature or a night in the fridge, which "
            "gives more aroma and makes scoring easier.",
        ),
        Chunk(
            "bread-06",
            "Bake. Oven at 250 °C with steam for the first twenty minutes, then 220 °C without steam until the crust "
            "is amber and the base sounds hollow.",
        ),
        Chunk(
            "bread-03",
            "Autolyse. Flour and water rest from half an hour to two hours before starter and salt: the gluten begins "
            "to form without work.",
        ),
        Chunk("bread-08", "Keeping. A whole loaf keeps three days in a cotton cloth; sliced, it is frozen."),
    ),
    remember=SampleTurn(
        "Do you remember how many degrees my oven reaches?",
        "220 degrees: that is why the stone should be very hot, and the bake ten minutes longer.",
    ),
    choice=SampleTurn(
        "For baking, which is better, the baking stone or the cast iron pot?",
        "Both work: the first for several loaves, the second because it keeps the steam.",
        ("bread-06",),
    ),
    unclear="Where can I buy it?",
    which="the second",
    another="And point 3?",
)

SAMPLES = {"it": ITALIAN, "en": ENGLISH}


# A small course to try things on: six short lessons, three in Italian and three in English, and questions about them.

_NAMES = {
    "it": ("ustioni", "fotosintesi", "chimica-in-cucina"),
    "en": ("sleep-and-memory", "bread", "back-pain"),
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One document of the course: `id` is the name of its file, `text` is Markdown."""

    id: str
    language: Literal["it", "en"]
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """Something asked of the course: an answer must say all of `says`; one without it is not in the material.

    An `unseen` question was kept aside while the rules were written.
    """

    language: Literal["it", "en"]
    text: str
    says: tuple[str, ...]
    lesson: str = ""
    unseen: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the course holds an answer."""
        return bool(self.says)


@cache
def lessons(language: Literal["it", "en"] | None = None) -> tuple[Lesson, ...]:
    """The lessons of one language, or all of them, always in the same order."""
    return tuple(_lesson(code, name) for code in ("it", "en") if language in (code, None) for name in _NAMES[code])


@cache
def questions() -> tuple[SampleQuestion, ...]:
    """The labelled questions, answerable or not."""
    lines = files("ricordo.cli").joinpath("sample").joinpath("questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return tuple(SampleQuestion(**{**row, "says": tuple(row["says"])}) for row in rows)


def _lesson(code: Literal["it", "en"], name: str) -> Lesson:
    text = files("ricordo.cli").joinpath("sample").joinpath(code, f"{name}.md").read_text("utf-8")
    return Lesson(name, code, text.partition("\n")[0].lstrip("# ").strip(), text)
