"""Irregular forms of common words, Italian and English: "went" is a form of "go", "scritto" of "scrivere".

Stemming cuts endings and cannot know these. Only forms that are hardly anything else are listed:
"left" or "ground" would do more harm than good.
"""

_ENGLISH = """
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

_ITALIAN = """
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


ENGLISH_FORMS = _table(_ENGLISH)
ITALIAN_FORMS = _table(_ITALIAN)
