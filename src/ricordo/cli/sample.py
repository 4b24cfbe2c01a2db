"""The demo's material: a small course on bread, and a talk about it, in Italian and in English.

Only data: what a tutor's students might say, and the passages that a retriever would offer.
"""

from dataclasses import dataclass

from ricordo.records import Chunk


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """A question, its answer and what the answer cites."""

    query: str
    response: str
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A course, a talk about it, and a follow-up that only makes sense with the talk in mind."""

    title: str
    safety: str
    system: str
    talk: tuple[SampleTurn, ...]
    follow_up: SampleTurn
    found: tuple[Chunk, ...]  # for the follow-up, best first
    another: str  # a follow-up to try oneself


ITALIAN = Sample(
    title="Corso di pane",
    safety="Per allergie e celiachia rimanda sempre a un medico.",
    system="Sei il tutor di un corso di panificazione. Rispondi con il materiale del corso e cita la fonte.",
    talk=(
        SampleTurn(
            "Che cos'è il lievito madre?",
            "È un impasto di farina e acqua in cui convivono lieviti selvatici e batteri lattici. Si tiene vivo "
            "nutrendolo: ogni giorno a temperatura ambiente, una volta alla settimana in frigorifero.",
            ("pane-01",),
        ),
        SampleTurn(
            "Quali sono le fasi per fare il pane?",
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
    another="E il punto 3?",
)


ENGLISH = Sample(
    title="Bread course",
    safety="For allergies and coeliac disease always refer to a doctor.",
    system="You are the tutor of a baking course. Answer from the course material and cite the source.",
    talk=(
        SampleTurn(
            "What is a sourdough starter?",
            "A dough of flour and water in which wild yeasts and lactic bacteria live together. It is kept alive by "
            "feeding: every day at room temperature, once a week in the fridge.",
            ("bread-01",),
        ),
        SampleTurn(
            "What are the stages of making bread?",
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
    another="And point 3?",
)

SAMPLES = {"it": ITALIAN, "en": ENGLISH}
