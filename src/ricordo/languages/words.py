"""The words that carry no subject of their own, in Italian and English, question words included.

They are left out of what is indexed and of what is asked: "when did Anna go to the sea?" is about Anna,
going and the sea. The lists also tell the two languages apart: hardly anyone writes a sentence without them.
"""

import re

_ENGLISH = """
a about above after again against all also am an and any anyone anything are aren around as at be because
been before being below between both but by can cannot could couldn did didn do does doesn doing don done
down during each either else ever every few for from further get gets getting got had hadn has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll many
may me might more most much must mustn my myself no nor not now of off oh ok okay on once one only or other
our ours ourselves out over own per quite rather re really s same shall she should shouldn since so some
someone something still such t than that the their theirs them themselves then there these they this those
though through thus to too under until up upon us ve very was wasn we well were weren what whatever when
whenever where wherever which while who whoever whom whose why will with within without won would wouldn
yeah yes yet you your yours yourself yourselves
"""

_ITALIAN = """
a abbia abbiamo abbiano abbiate ad adesso agli ai al alla alle allo allora altra altre altri altro anche
ancora avendo aver avere avesse avessi avete aveva avevamo avevano avevi avevo avra avrai avranno avrebbe
avrebbero avrei avremo avrete avro avuta avute avuti avuto bene c che chi chiunque ci cio cioe coi col com come
con contro cos cosa cosi cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della delle dello
dentro di dopo dov dove dovunque e ebbe ebbero ebbi ecco ed era erano eravamo eri ero essa esse essendo essere
essi esso faccia facciamo facendo facesse faceva facevano fai fanno far fara fare fatto fece feci fin finche
fino fo fosse fossero fossi foste fosti fra fu fui fummo furono gia gli grazie ha hai hanno ho i il in
infatti io l la le lei li lo loro lui ma magari mai me mi mia mie miei mio molta molte molti molto ne
neanche negli nei nel nell nella nelle nello nemmeno no noi non nostra nostre nostri nostro o oppure ora
ovvero parecchi per perche percio pero piu poco poi poiche qua qual qualche qualcosa qualcuno quale quali quando
quanta quant quante quanti quanto quasi quei quel quell quella quelle quelli quello questa queste questi questo
qui quindi sara saranno sarebbe sarebbero sarei saremo saro se sei senza si sia siamo siano siate siete solo
sono sopra sotto sta stai stanno stare stata state stati stato stava stavo stessa stesse stessi stesso sto
su sua sue sugli sui sul sull sulla sulle sullo suo suoi t ti tra troppo tu tua tue tuo tuoi tutta tutte
tutti tutto un una uno v ve vi voi vostra vostre vostri vostro
"""

ENGLISH = frozenset(_ENGLISH.split())
ITALIAN = frozenset(_ITALIAN.split())


# Irregular forms of common words, Italian and English: "went" is a form of "go", "scritto" of "scrivere".

_ENGLISH_FORMS = """
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bite bitten,
bleed bled, blow blew blown, break broke broken, bring brought, build built, burn burnt, buy bought, catch caught,
choose chose chosen, come came, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk,
drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled,
fly flew flown, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, give gave given,
go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt,
know knew known, lay laid, lead led, learn learnt, lend lent, lose lost, make made, mean meant, meet met, pay paid,
ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold,
send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung,
sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent, spin spun, stand stood,
steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung,
take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown,
understand understood, wake woke woken, wear wore worn, weave wove woven, weep wept, win won, write wrote written,
child children, man men, woman women, foot feet, tooth teeth, mouse mice, person people, life lives, wife wives,
knife knives, leaf leaves, wolf wolves
"""

_ITALIAN_FORMS = """
andare vado vai vanno, aprire aperto aperta, bere bevuto bevo, chiedere chiesto chiesi, chiudere chiuso chiusa,
conoscere conosciuto, correre corso, decidere deciso decisa, dire detto detta disse dissi, dovere devo deve devono,
leggere letto letta lessi, mettere messo messa misi, morire morto morta, muovere mosso, nascere nato nata nacque,
offrire offerto, perdere perso persa, piacere piaciuto piaciuta, potere posso puoi possono, prendere preso presa,
promettere promesso, ridere riso, rimanere rimasto rimasta, rispondere risposto, rompere rotto rotta,
sapere so sai sanno seppi, scegliere scelto scelta, scendere sceso scesa, scrivere scritto scritta,
spendere speso spesa, succedere successo, tenere tengo tenuto, togliere tolto tolta,
uscire esco esce uscito, vedere visto vista vidi, venire vengo viene venuto venuta, vincere vinto vinta,
vivere vissuto vissuta, volere voglio vuoi vuole vogliono, uomo uomini, uovo uova
"""


def _table(text: str) -> dict[str, str]:
    groups = (group.split() for group in text.split(","))
    return {form: base for base, *forms in groups for form in forms}


ENGLISH_FORMS = _table(_ENGLISH_FORMS)
ITALIAN_FORMS = _table(_ITALIAN_FORMS)


# The names of months, weekdays, seasons, units and small numbers in Italian and English, folded.

ENGLISH_MONTHS = dict(
    zip(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        range(1, 13),
        strict=True,
    )
)
ITALIAN_MONTHS = dict(
    zip(
        [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        range(1, 13),
        strict=True,
    )
)
MONTHS = ENGLISH_MONTHS | ITALIAN_MONTHS

ENGLISH_WEEKDAYS = dict(
    zip(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], range(7), strict=True)
)
ITALIAN_WEEKDAYS = dict(
    zip(["lunedi", "martedi", "mercoledi", "giovedi", "venerdi", "sabato", "domenica"], range(7), strict=True)
)
WEEKDAYS = ENGLISH_WEEKDAYS | ITALIAN_WEEKDAYS

# The month in which a season begins; each lasts three.
SEASONS = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12,
    "primavera": 3, "estate": 6, "autunno": 9, "inverno": 12,
}  # fmt: skip

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2, "couple": 2,
    "un": 1, "uno": 1, "una": 1, "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "sei": 6, "sette": 7, "otto": 8,
    "nove": 9, "dieci": 10, "undici": 11, "dodici": 12, "un paio di": 2, "paio di": 2,
}  # fmt: skip

UNITS = {
    "day": "day", "days": "day", "giorno": "day", "giorni": "day",
    "week": "week", "weeks": "week", "settimana": "week", "settimane": "week",
    "month": "month", "months": "month", "mese": "month", "mesi": "month",
    "year": "year", "years": "year", "anno": "year", "anni": "year",
    "weekend": "weekend", "weekends": "weekend", "fine settimana": "weekend",
}  # fmt: skip


# Words that tell where a talk stands, in Italian and English: openings, closings, words that lean on what was said.

_OPENING = (
    # Italian
    "ciao", "salve", "buongiorno", "buon giorno", "buonasera", "buona sera", "pronto", "scusi", "mi scusi", "scusa",
    "senti", "senta", "a proposito", "comunque", "cambiando argomento", "cambiando discorso", "altra domanda",
    "un'altra domanda", "un'altra cosa", "passiamo a", "parliamo di", "torniamo a", "torniamo al", "torniamo alla",
    "torniamo ai", "tornando a", "tornando al", "tornando alla",
    # English
    "hi", "hello", "hey", "good morning", "good afternoon", "good evening", "excuse me", "by the way", "btw", "anyway",
    "another question", "another thing", "on another note", "changing the subject", "let's talk about",
    "back to", "going back to", "coming back to",
)  # fmt: skip

_CLOSING = (
    # Italian
    "arrivederci", "a presto", "a dopo", "ci vediamo", "buonanotte", "buona notte", "buona serata", "buona giornata",
    "grazie", "prego", "di niente", "di nulla",
    # English
    "bye", "goodbye", "see you", "talk to you later", "good night", "take care", "thanks", "thank you", "welcome",
)  # fmt: skip

_LEANING = (
    # Italian ("lo", "la", "le" are mostly articles, so they say nothing)
    "quello", "quella", "quelli", "quelle", "questo", "questa", "questi", "queste", "lui", "lei", "loro", "stesso",
    "stessa", "ne", "ci",
    # English
    "it", "its", "that", "this", "these", "those", "they", "them", "their", "he", "she", "him", "her", "one", "ones",
    "there",
)  # fmt: skip

_JOINING = (
    # Italian
    "e", "ed", "ma", "però", "quindi", "allora", "oppure",
    # English
    "and", "but", "so", "or", "what about", "how about",
)  # fmt: skip

_ADDING = (
    # Italian
    "anche", "invece", "altro", "altri", "altre", "gli", "più", "meno",
    # English
    "also", "too", "instead", "else", "more", "less",
)  # fmt: skip


def _any_of(phrases: tuple[str, ...]) -> str:
    return "(?:" + "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True)) + r")\b"


OPENING = re.compile(r"\W*" + _any_of(_OPENING), re.IGNORECASE)  # at the very beginning: use match
# A conjunction at the very beginning, or a word that adds to what was said: use search.
CONTINUING = re.compile(r"\A\W*" + _any_of(_JOINING) + r"(?!')|\b" + _any_of(_ADDING), re.IGNORECASE)
CLOSING = re.compile(r"\b" + _any_of(_CLOSING), re.IGNORECASE)
LEANING = re.compile(r"\b" + _any_of(_LEANING), re.IGNORECASE)
