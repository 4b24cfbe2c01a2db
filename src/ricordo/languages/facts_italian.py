# ruff: noqa: E501 - one pattern a line: a table is read down its columns
"""How people tell something of themselves in Italian: one table, no code.

Sentences are written so that they fit everybody: "Ama la pizza" and not "Gli piace la pizza".
"""

import re

from ricordo.languages.facts_base import Pattern, Tongue
from ricordo.people.facts.dates import PHRASE

_ADV = r"(?:(?:proprio|davvero|veramente|molto|tanto|anche|sempre|ancora|ora|adesso|attualmente|soprattutto|più) )*"
_A = r"(?:a|ad|in|nel|nello|nella|nell'|nei|nelle|negli|vicino a|vicino|dalle parti di|in provincia di|alla periferia di)"
_AL = r"(?:al|allo|alla|all'|ai|agli|alle|a|ad)"
_EXAM = r"(?:esame|verifica|interrogazione|compito in classe|test|gara|concorso|colloquio|prova|orale|maturità|saggio|recita|partita)"
_THE = r"(?:un |una |un'|l'|il |la |lo |gli |le |i )"
_JOB = (
    r"(?:medico|infermier[ea]|insegnante|maestr[ao]|professor(?:e|essa)|ingegnere|avvocat[oa]|architett[oa]|cuoc[oa]|camerier[ea]|"
    r"programmatore|programmatrice|sviluppatore|sviluppatrice|idraulico|elettricista|falegname|commess[oa]|impiegat[oa]|operai[oa]|"
    r"autista|barista|farmacista|fisioterapista|psicolog[oa]|dentista|veterinari[oa]|giornalista|scrittore|scrittrice|"
    r"fotograf[oa]|music(?:ista|ologo)|attore|attrice|pittore|pittrice|designer|grafic[oa]|contabile|commercialista|ricercatore|"
    r"ricercatrice|agricoltore|muratore|meccanico|parrucchier[ea]|postin[oa]|poliziott[oa]|vigile del fuoco|pompiere|"
    r"libraio|bibliotecari[oa]|educatore|educatrice|casaling[ao]|pensionat[oa]|tassista|pasticcer[ea]|estetista|notaio)"
)
_KIN = (
    r"(?:sorella|fratello|sorellina|fratellino|figli[oa]|cugin[oa]|zi[oa]|nonn[oa]|amic[oa]|migliore amic[oa]|compagn[oa](?: di banco)?|"
    r"cane|gatt[oa]|cagnolin[oa]|gattin[oa]|conigli(?:o|etto)|criceto|cavallo|pappagallo|pesce|tartaruga|nipote|nipotina|nipotino)"
)
_ONLY = r"(?:madre|padre|mamma|papà|marito|moglie|ragazz[oa]|fidanzat[oa]|compagn[oa])"
_LANGUAGE = (
    r"(?:italiano|inglese|francese|spagnolo|tedesco|portoghese|russo|cinese|arabo|giapponese|rumeno|romeno|albanese|ucraino|"
    r"polacco|greco|turco|hindi|coreano|olandese|svedese|ungherese|bengalese|urdu|serbo|croato)"
)
_SCHOOL = r"(?:liceo|istituto|scuola|università|politecnico|accademia|conservatorio|itis|ipsia|iti|ateneo|facoltà|elementari|medie|superiori)"
_REACH = (
    r"(?:passare|superare|diventare|imparare|prendere (?:un|una|il|la|almeno|voti|dieci|nove|otto|sette|sei|10|9|8|7|6)|laurearmi|"
    r"diplomarmi|iscrivermi|entrare (?:a|in|nel|nella|all')|vincere|migliorare|arrivare (?:in finale|prim[oa]|alla laurea|al livello)|fare (?:il|la|lo|l')|trasferirmi|"
    r"studiare (?:a|all'|medicina|legge|ingegneria|architettura|economia|informatica|psicologia|fisica|biologia|lettere|lingue|chimica)|"
    r"lavorare (?:in|come|nel|nella|all'|a|per)|finire (?:la scuola|il liceo|gli studi|l'università|la tesi|il corso|le superiori)|recuperare|prepararmi|partecipare|correre (?:la|una|i|le)|dimagrire|"
    r"smettere di (?:fumare|procrastinare|copiare|rimandare)|aprire (?:un|una)|viaggiare|visitare|parlare|scrivere (?:un libro|un romanzo)|suonare|alzare la media|essere promoss[oa])"
)
_ABLE = (
    r"(?:capire|risolvere|ricordare|memorizzare|imparare|calcolare|scrivere|leggere|concentrarmi|studiare|tradurre|pronunciare|"
    r"distinguere|applicare|usare|semplificare|disegnare|fare (?:i|le|gli|la|il|lo|l')|seguire (?:i|le|gli|la|il|lo|l')|scomporre|coniugare|"
    r"organizzarmi|ricordarmi|parlare)"
)

PATTERNS = (
    Pattern("name", r"(?:io )?(?:mi chiamo|il mio nome (?:è|e'|e)) (?P<x>[^\d]+)", "Si chiama {x}", "name", x="person", confidence=0.98),
    Pattern("name", r"(?:io )?sono (?P<x>[^\d]+)", "Si chiama {x}", "name", x="proper", confidence=0.85, greeted=True),
    # Places
    Pattern("place", rf"(?:io )?(?:non (?:vivo|abito) più) (?P<y>{_A}) ?(?P<x>.+)", "Non vive più {y} {x}", "place:home", x="place", y="folded"),
    Pattern("place", rf"(?:io )?(?:vivo|abito|risiedo) {_ADV}(?P<y>{_A})(?: |(?<='))(?P<x>.+)", "Vive {y} {x}", "place:home", x="place", y="folded"),
    Pattern("place", r"(?:io )?mi sono (?:appena )?trasferit[oa] (?P<y>a|ad|in) (?P<x>.+)", "Vive {y} {x}", "place:home", x="place", y="folded"),
    Pattern("place", r"(?:io )?(?:vengo|provengo) (?P<y>da|dal|dalla|dall'|dallo|dagli) ?(?P<x>.+)", "Viene {y} {x}", "place:origin", x="proper place", y="folded"),
    Pattern("place", r"(?:io )?sono (?:originari[oa] )?(?P<y>di) (?P<x>.+)", "Viene da {x}", "place:origin", x="proper place", y="folded"),
    Pattern("place", r"(?:io )?sono nat[oa] (?:e cresciut[oa] )?(?P<y>a|ad|in) (?P<x>.+)", "Luogo di nascita: {x}", "place:birth", x="proper place", y="folded"),
    Pattern("place", rf"(?:io )?(?:frequento|faccio) (?P<x>(?:il |lo |la |l'|le ){_SCHOOL}\b.*)", "Frequenta {x}", "place:school"),
    Pattern("place", rf"(?:io )?(?:studio|vado|sono iscritt[oa]) (?P<x>{_AL} ?{_SCHOOL}\b.*)", "Studia {x}", "place:school"),
    # Days
    Pattern("date", rf"(?:io )?(?:il mio compleanno (?:è|e'|cade|sarà)|compio gli anni|faccio gli anni) (?P<x>{PHRASE})", "Compie gli anni il {x}", "date:birthday", x="yearly"),
    Pattern("date", rf"(?:io )?sono nat[oa] (?P<x>{PHRASE})", "Data di nascita: {x}", "date:birthday", x="yearly"),
    Pattern("date", rf"(?:io )?(?:ho|avrò|devo fare|devo sostenere) (?P<y>{_THE}{_EXAM}\b[^,]*?),? (?P<x>{PHRASE})", "Ha {y} il {x}", "date:{y}", x="day", y="thing"),
    Pattern("date", rf"(?P<x>{PHRASE}) (?:ho|avrò|devo fare|devo sostenere|c'è) (?P<y>{_THE}{_EXAM}\b[^,]*)", "Ha {y} il {x}", "date:{y}", x="day", y="thing"),
    Pattern("date", rf"(?P<y>(?:l'|il |la |il mio |la mia ){_EXAM}\b[^,]*?)(?<! non) (?:è|e'|sarà|è fissat[oa]|è stat[oa] spostat[oa]|si terrà|è spostat[oa])(?: per| a)? (?P<x>{PHRASE})", "Ha {y} il {x}", "date:{y}", x="day", y="thing"),
    # Goals
    Pattern("goal", rf"(?:io )?non (?:voglio|vorrei|ho) più (?:intenzione di )?(?P<x>{_REACH}\b.*)", "Non vuole più {x}", "goal:{x}", x="wish"),
    Pattern("goal", rf"(?:io )?(?:voglio|vorrei|mi piacerebbe|ho intenzione di|ho deciso di|il mio (?:obiettivo|sogno|traguardo) (?:è|e')(?: di| quello di)?|spero di|punto a|sogno di|il mio scopo (?:è|e')(?: di)?|devo(?! (?:fare|passare (?:da|dal|dalla|per|a|al))\b)|da grande (?:voglio|vorrei)|il mio desiderio è(?: di)?) {_ADV}(?P<x>{_REACH}\b.*)", "Vuole {x}", "goal:{x}", x="wish"),
    # Difficulties
    Pattern("difficulty", r"(?:io )?non ho più (?:difficoltà|problemi|dubbi) (?:con|su|in|nel|nella|nelle|nei|sulle|sui|sul|sulla) ?(?P<x>.+)", "Non ha più difficoltà con {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:(?:ora|adesso|finalmente|ormai) )+(?:capisco|ho capito|mi sono chiare) (?P<x>(?:il|lo|la|i|gli|le|l').+)", "Non ha più difficoltà con {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:io )?non (?:capisco|riesco a capire|ho (?:ancora )?capito|ho mai capito|comprendo) (?:mai |bene |proprio |ancora |per niente |affatto |molto |granché )*(?P<x>(?:(?:il|lo|la|i|gli|le) |l').+)", "Ha difficoltà con {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"(?:io )?(?:non riesco(?: mai| proprio| ancora)* a|faccio (?:molta |tanta |sempre |ancora )?fatica a|ho (?:molta |tanta )?difficoltà a|mi viene difficile|mi è difficile|ho problemi a) (?P<x>{_ABLE}\b.*)", "Ha difficoltà a {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:io )?(?:ho (?:\w+ )?(?:difficoltà|problemi)|faccio (?:\w+ )?fatica|mi confondo(?: sempre)?|sono in difficoltà) (?:con|su) (?P<x>.+)", "Ha difficoltà con {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:io )?(?:ho (?:\w+ )?(?:difficoltà|problemi)|faccio (?:\w+ )?fatica|sono (?:negat[oa]|scars[oa]|debole|una frana|un disastro)|vado male|ho un'insufficienza|ho il debito|ho l'insufficienza) (?P<y>in|nel|nello|nella|nell'|nei|nelle|negli|sul|sulla|sulle|sui|sugli|sull') ?(?P<x>.+)", "Ha difficoltà {y} {x}", "difficulty:{x}", x="subject", y="folded"),
    Pattern("difficulty", r"(?:(?P<x>(?:il|lo|la|i|gli|le|l') ?[^,]+?)) (?:mi (?:risulta(?:no)?|sembra(?:no)?|riesce|riescono) (?:\w+ )?(?:difficil[ei]|ostic[aoi]|ostiche|complicat[aeio]|male)|non mi entra(?:no)? in testa|mi (?:manda(?:no)?|mette(?:no)?) in (?:crisi|difficoltà|confusione))", "Ha difficoltà con {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:io )?(?:ho|soffro di) (?:la |il |un |una |l')?(?P<x>dislessia|discalculia|disgrafia|disortografia|adhd|dsa)", "Ha {x}", "condition:{x}", x="folded"),
    Pattern("difficulty", r"(?:io )?sono (?P<x>dislessic|discalculic|disgrafic)[oa]", "Ha {x}", "condition:{x}", x="condition"),
    # Preferences
    Pattern("preference", rf"(?:io |a me )?(?:non mi piac(?:e|ciono)|odio|detesto|non sopporto|non amo|non mi va di|mi annoia(?:no)?|mi fa(?:nno)? schifo) {_ADV}(?P<x>.+)", "Non ama {x}", "preference:{x}", x="taste"),
    Pattern("preference", rf"(?:io |a me )?(?:mi piac(?:e|ciono)|piac(?:e|ciono)|adoro|amo|vado matt[oa] per) {_ADV}(?P<x>.+)", "Ama {x}", "preference:{x}", x="taste"),
    Pattern("preference", rf"(?:io )?preferisco {_ADV}(?P<x>.+)", "Preferisce {x}", "preference:{x}", x="taste"),
    Pattern("preference", r"(?:io )?(?:imparo|capisco|apprendo|studio|memorizzo) (?:molto )?meglio (?P<x>(?:con|da|tramite|attraverso|facendo|ascoltando|guardando|leggendo|scrivendo|ripetendo)\b.+)", "Impara meglio {x}", "learning:{x}", x="manner"),
    Pattern("preference", r"(?:io )?sono (?:un |una |un')?(?:grande |super )?(?:appassionat[oa]|fan|tifos[oa]|amante|patit[oa]) (?P<y>di|del|dello|della|dell'|dei|delle|degli) ?(?P<x>.+)", "Ha passione per {x}", "preference:{x}", y="folded"),
    Pattern("preference", r"(?:il mio|la mia) (?P<y>[a-zà-ú]+(?: [a-zà-ú]+)?) preferit[oa] (?:è|e') (?P<x>.+)", "Preferenza per {y}: {x}", "favourite:{y}"),
    Pattern("preference", r"(?:io )?tifo(?: per)? (?P<x>.+)", "Tifa per {x}", "favourite:squadra", confidence=0.85),
    # People and animals
    Pattern("relation", rf"(?P<y>mi[oa] {_ONLY}|(?:il mio|la mia) {_ONLY}) si chiama (?P<x>.+)", "{y} si chiama {x}", "relation:{y}", x="person"),
    Pattern("relation", rf"(?P<y>(?:il mio |la mia |mi[oa] ){_KIN}) si chiama (?P<x>.+)", "{y} si chiama {x}", "", x="person"),
    Pattern("relation", r"(?P<y>(?:il mio|la mia) (?:prof(?:essore|essoressa)?|maestr[oa]|insegnante|docente|tutor|allenatore|allenatrice)(?: di [a-zà-ú ]+?)?) (?:si chiama|è (?:il |la )?(?:prof(?:\.|essore|essoressa)?|signor[ae]?|sig\.?(?:ra)?)) (?P<x>.+)", "{y} si chiama {x}", "relation:{y}", x="proper"),
    Pattern("relation", rf"(?:io )?ho (?P<y>(?:un|una|un') ?(?:{_KIN}|{_ONLY})(?: (?:maggiore|minore|gemell[oa]|più (?:piccol[oa]|grande)))?) (?:di nome|che si chiama|chiamat[oa]) (?P<x>.+)", "Ha {y} di nome {x}", "", x="person"),
    Pattern("relation", rf"(?:io )?ho (?P<x>(?:(?:un|una|un'|due|tre|quattro|cinque|\d) ?(?:{_KIN}|fratelli|sorelle|figli|figlie|cani|gatti|nipoti)(?: (?:maggior[ei]|minor[ei]|gemell[oaie]|più (?:piccol[oaie]|grand[ei])))?)(?: e (?:un|una|un'|due|tre|quattro|\d) ?(?:{_KIN}|fratelli|sorelle|figli|figlie|cani|gatti|nipoti))?)", "Ha {x}", "", x="counted"),
    Pattern("relation", r"(?:io )?sono (?P<x>figli[oa] unic[oa])", "È {x}", "relation:siblings", x="counted"),
    # The rest
    Pattern("other", r"(?:io )?ho (?P<x>[1-9]\d?) anni", "Ha {x} anni", "age", x="age", confidence=0.97),
    Pattern("other", r"(?:io )?(?:faccio|frequento|sono in|vado in|sto in|sono al|frequento il|faccio il|sono alla) (?:la |il )?(?P<x>(?:prima|seconda|terza|quarta|quinta)(?: (?:media|elementare|superiore|liceo(?: (?:classico|scientifico|linguistico|artistico))?|classe|ginnasio))?|(?:primo|secondo|terzo|quarto|quinto|sesto) anno(?: (?:di|del|della|dell')[a-zà-ú' ]+)?)", "Classe: {x}", "class", x="counted"),
    Pattern("other", r"(?:io )?lavoro (?:come (?!un[ao']?\b)(?P<x>[^,]+))", "Lavora come {x}", "job", x="thing"),
    Pattern("other", rf"(?:io )?lavoro (?:come|da) (?:un |una |un')?(?P<x>{_JOB}\b(?: [a-zà-ú']+){{0,4}})", "Lavora come {x}", "job", x="thing"),
    Pattern("other", rf"(?:(?:io )?(?:faccio (?:il |la |l'|lo )|sono (?:un |una |un')?|di (?:lavoro|mestiere|professione) (?:faccio |sono )(?:il |la |l'|lo |un |una |un')?))(?P<x>{_JOB}\b(?: [a-zà-ú']+){{0,4}})", "Lavora come {x}", "job", x="thing"),
    Pattern("other", r"(?:io )?sono (?:uno studente|una studentessa|studente|studentessa) (?:di|del corso di) (?P<x>.+)", "Studia {x}", "study", x="subject"),
    Pattern("other", rf"(?:io )?parlo (?:bene |anche |solo |correntemente |fluentemente )*(?:l'|il |lo )?(?P<x>{_LANGUAGE}(?: e (?:l'|il )?{_LANGUAGE})?)(?: (?:bene|correntemente|fluentemente|molto bene|a casa))?", "Parla {x}", "", x="folded"),
    Pattern("other", rf"(?:la mia (?:lingua madre|madrelingua|prima lingua) è|sono (?:di )?madrelingua) (?:l'|il |lo )?(?P<x>{_LANGUAGE})", "La sua lingua madre è {x}", "language:native", x="folded"),
    Pattern("other", r"(?:io )?sono (?P<y>allergic[oa]|intollerante) (?P<x>(?:a|al|allo|alla|ai|agli|alle|all') ?.+)", "{y} {x}", "health:{x}", x="allergy", y="allergy"),
    Pattern("other", r"(?:io )?(?:soffro di|ho) (?P<x>(?:un'allergia|allergia|un'intolleranza|l'intolleranza) (?:a|al|allo|alla|ai|agli|alle|all') ?.+)", "Ha {x}", "health:{x}", x="thing"),
    Pattern("other", r"(?:io )?non sono più (?P<x>vegetarian|vegan)[oae]", "Non più: {x}", "health:{x}", x="trait"),
    Pattern("other", r"(?:io )?sono (?:diventat[oa] )?(?P<x>vegetarian|vegan|celiac|astemi|mancin|miope|daltonic)[oae]?", "{x}", "health:{x}", x="trait"),
    Pattern("other", r"(?:io )?suono (?P<x>(?!(?:il |la |l'|lo )(?:campan\w+|clacson|citofono|allarme))(?:il |la |l'|lo )[a-zà-ú ]+?)(?: da .+)?", "Suona {x}", "", x="thing"),
    Pattern("other", r"(?:io )?(?:gioco a|pratico|faccio) (?P<x>calcio|basket|pallavolo|tennis|rugby|scacchi|nuoto|danza|atletica|karate|judo|ginnastica|equitazione|scherma|pallacanestro|hockey|padel)(?: (?:da|in|ogni|nel|nella|con) .+)?", "Pratica {x}", "", x="folded"),
)  # fmt: skip

TONGUE = Tongue(
    "it",
    lead=re.compile(
        r"(?:(?:ciao|salve|buon ?giorno|buona ?sera|ehi|piacere|allora|beh|sì|si|ok|guarda|senti|comunque|e|ma|però|poi|inoltre|"
        r"purtroppo|in realtà|veramente|sinceramente|in generale|di solito|ad essere sinceri|onestamente|prof|anche io|anch'io|"
        r"per me|personalmente|da sempre|da quest'anno|quest'anno|certo|infatti|quindi|invece|premetto che|ti dico che|"
        r"sappi che|ora|adesso|attualmente|devi sapere che|il fatto è che|il problema è che|tutti|a tutti|grazie)\b[\s!]*)+",
        re.IGNORECASE,
    ),
    sign=re.compile(
        r"\b(?:mi|mio|mia|ho|sono|vivo|abito|risiedo|vengo|provengo|studio|frequento|faccio|voglio|vorrei|spero|punto|sogno|adoro|amo|odio|"
        r"detesto|preferisco|parlo|lavoro|compio|non|tifo|vado|devo|imparo|apprendo|memorizzo|soffro|suono|gioco|pratico|l'esame|"
        r"la verifica|l'interrogazione|capisco|avrò|il test|la prova|la gara|piace|piacciono)\b",
        re.IGNORECASE,
    ),
    patterns=PATTERNS,
)
