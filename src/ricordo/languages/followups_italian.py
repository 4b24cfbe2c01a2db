"""The Italian table: words and patterns, nothing else."""

from ricordo.languages.followups_base import Clarifying, Language, numbered, words

_ARTICLES = """il lo la l i gli le del dello della dell dei degli delle al allo alla all ai agli alle dal dallo
    dalla dall dai dagli dalle nel nello nella nell nei negli nelle sul sullo sulla sull sui sugli sulle col coi"""
_PREPOSITIONS = """di a da in con su per tra fra del dello della dell dei degli delle al allo alla all ai agli
    alle dal dallo dalla dall dai dagli dalle nel nello nella nell nei negli nelle sul sullo sulla sull sui
    sugli sulle col coi verso senza sopra sotto dopo prima durante contro entro oltre presso circa rispetto
    riguardo d"""
_AUX = """è e' sono era erano fu furono sarà saranno sia siano essere stato stata stati state sei siamo siete ho
    hai ha abbiamo avete hanno aveva avevo avevi avevano avrà avere avuto posso puoi può possiamo potete possono
    potrebbe potrei potresti devo devi deve dobbiamo dovete devono dovrebbe dovrei voglio vuoi vuole vogliono
    vorrei vorresti conviene bisogna serve servono c"""
_WH = """che cosa cos quale quali qual chi come quando dove perché perche quanto quanta quanti quante mai"""
_PRONOUNS = """io tu lui lei noi voi loro mi ti si ci vi lo la li le gli ne me te se ce ve mio mia miei mie tuo
    tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra questo questa questi queste quest
    quello quella quelli quelle quel quei quegli quell ciò esso essa essi esse qualcosa qualcuno nessuno nessuna
    niente nulla tutto tutti tutte tutta altro altra altri altre stesso stessa stessi stesse uno una ognuno
    entrambi entrambe cui"""
_SMALL = """un uno una e ed o oppure ma però anche se non no sì si poi già ancora sempre mai più meno molto
    molta molti molte poco poca pochi poche troppo così allora quindi dunque invece ora adesso oggi qui qua lì
    là solo soltanto proprio quasi forse magari davvero bene male meglio peggio solito genere spesso subito
    insieme almeno circa ok okay grazie prego ciao favore piacere po pure infine cioè ecco tanto tanta tanti
    tante ogni qualche alcuni alcune esattamente precisamente solitamente normalmente generalmente veramente
    ieri domani mentre siccome poiché affinché sebbene né che mediamente"""
_VERBS = """abbino accetta accettano accade aggiungere aggiungi aiuta aiutano apre aprire aumenta avviene
    avvengono basta bastano beve bevono bolle calcola calcolano cambia cambiano cambiò capita causa causano
    chiama chiamano chiede chiedere chiude cominciare cominciò comincia compra comprare comprende comporta
    configuro conosce consigli consiglia contiene contengono continua costa costano costava costavano crea
    creare cresce crescono cucina cuocere cura curare curano cambiare deriva devo dice dicono dire dipende
    disegna diventa diventare divide dorme dura durano durare durò entrare esegue eseguono esiste esistono evita
    evitare fa fai fanno fare faccio fatta fatti fatto fece fecero finì finisce finita finito forma formano
    funziona funzionano funzionare guida impara impedisce impugna impugnare include includono incide indica
    inizia iniziano iniziare iniziò installa installo insegna interviene inventato invecchia lavora legge
    leggere manda mangia mangiano mangiare manifesta manifestano misura misurano morì mette mettere metto mostra
    muore nasce nascono nacque occorre occorrono offre ottiene paga pagano pagare pago parla parlami parliamo
    parlano parte partono passa perde piace porta posso praticano prende prendere prendo prepara preparano
    preparare presenta previene prevengono produce produssero provoca provocano pubblicò pulisce raggiunge regge
    resiste resta richiede richiedono ricava riconosce riduce rimane rinforzano risolve risolvono risponde
    ritorna sa sai salire scade scegliere scelgo scoppiata scopre scoprì scrisse scritto scrive scrivere
    scrivono segue sente sentire significa smette soffre soffrono spiega spiegami spiegare spieghi successe
    succede succedono suggerisce tiene tratta trattano trova trovano trovare trovo usa usano usare usato usi uso
    vale valgono vede vedere vediamo vince vincere vinse visita vive vivono viveva visse vuol vuole andare
    andato va vanno vado vai viene vengono venire dimmi dammi fammi descrivi elenca confronta riassumi
    approfondisci chiarisci mostrami raccontami nato nata nati nate morto morta inventò fondò fondato fondata
    scoperto scoperta vissuto vissuta"""
_MODIFIERS = """principale principali maggiore maggiori migliore migliori peggiore peggiori importante
    importanti possibile possibili tipico tipica tipici tipiche comune comuni diverso diversa diversi diverse
    vari varie generale generali specifico specifica specifici specifiche attuale attuali recente recenti nuovo
    nuova nuovi nuove vecchio vecchia grande grandi piccolo piccola piccoli piccole alto alta alti alte basso
    bassa bassi basse massimo massima massimi massime minimo minima minimi minime medio media medi medie totale
    totali esatto esatta ufficiale ufficiali originale originali collaterale collaterali primo prima primi prime
    secondo seconda ultimo ultima ultimi ultime terzo terza buono buona buoni buone bello bella utile utili
    efficace efficaci sicuro sicura pericoloso pericolosa facile facili difficile difficili normale normali
    necessario necessaria disponibile disponibili consigliato consigliata consigliati consigliate breve lungo
    lunga termine veloce veloci conveniente convenienti lento lenta vero vera famoso famosa famosi famose
    interessante interessanti significativo legale legali adatto adatta adatti"""
# Adjectives that rank or count and never belong to a name.
_EMPTY = """principale principali maggiore maggiori migliore migliori peggiore peggiori importante importanti
    possibile possibili tipico tipica tipici tipiche diverso diversa diversi diverse vari varie specifico
    specifica specifici specifiche famoso famosa famosi famose primo prima primi prime secondo seconda terzo
    terza ultimo ultima ultimi ultime altro altra altri altre simile simili"""
_RELATIONAL = """alternativa alternative ambito ambiti anno anni applicazione applicazioni argomento argomenti
    aspetto aspetti attore attori autore autrice autori benefici beneficio capacità capitale caratteristica
    caratteristiche carriera causa cause classe classi clima colore colori complicanze complicazioni componente
    componenti composizione condizione condizioni conseguenza conseguenze consiglio consigli contenuto
    controindicazioni costo costi criteri criterio critica critiche cura cure curiosità data date definizione
    descrizione destinatari diagnosi dieta differenza differenze difetti difetto difficoltà dimensione
    dimensioni documenti dosaggio dose durata eccezione eccezioni economia effetti effetto elementi elemento
    epoca esempi esempio esito età eventi evento evoluzione fase fasi fattore fattori figli figlio figlia fine
    fini fondatore fondatori fonte fonti forma forme formula frequenza funzione funzioni futuro genere generi
    genitori gradi grado gravità idea idee importanza importo impatto indicazioni influenze
    ingrediente ingredienti inizio interpretazione inventore ispirazione limite limiti lingua lunghezza luogo
    luoghi madre marito materiale materiali meccanismo membri metodo metodi misura misure modalità modello
    modelli moglie morte motivo motivi nascita natura nome nomi norma numero nazionalità obiettivi obiettivo
    opera opere opinione opzione opzioni orari orario origine origini padre parametri parte parti passaggi
    passaggio passi passo percentuale pericoli pericolo periodo peso popolazione possibilità precauzioni prezzi
    prezzo principi principio probabilità problema problemi procedimento procedura processo prodotti prognosi
    proprietà prospettive protagonista protagonisti punti punto qualità quantità rapporto ragione ragioni regola
    regole requisiti requisito ricetta rimedi rimedio rischi rischio risultati risultato ruolo ruoli sanzione
    sanzioni scadenza scadenze scopi scopo sede sedi segni segno significato sintomi sintomo soluzione soluzioni
    specie stadi stadio statistiche stile storia strategia strumenti struttura successo superficie svantaggi
    svantaggio tappe tariffa tariffe tasso tecnica tecniche tema temi temperatura tempi tempo teoria terapia
    terapie termini tipi tipo tipologia tipologie titolo tradizioni trama trattamenti trattamento uso utilizzi
    utilizzo valore valori vantaggi vantaggio variante varianti velocità versione versioni vita volta volte
    dettagli dettaglio informazioni informazione personaggi personaggio"""

_ABOUT = (
    r"(?:di|del|dello|della|dell|dei|degli|delle|a|ad|al|allo|alla|all|ai|agli|alle|su|sul|sullo|sulla|sull|sui|sugli"
    r"|sulle|riguardo|circa|a proposito)"
)
# "come prima" refers back where the phrase ends; in "come prima cosa" it does not.
_CLAUSE_END = (
    r"(?= ?$| [^\w\s]| (?:ma|e|o|però|anche|solo|invece|ora|adesso|per|con|senza|in|su|da|al|alla|ai|alle|nel"
    r"|nella|nei|sul|sulla|sui)\b)"
)

ITALIAN = Language(
    code="it",
    function_words=words(_SMALL, _PRONOUNS, _WH, _PREPOSITIONS, _AUX, _ARTICLES),
    verbs=words(_VERBS),
    modifiers=words(_MODIFIERS, _EMPTY),
    empty_adjectives=words(_EMPTY),
    second_person=words("tu ti te tuo tua tuoi tue sei stai puoi sai vuoi chiami"),
    clause_words=words("e ed o ma se che quando perché perche mentre cui dove quindi però oppure siccome"),
    coordinators=words("e ed o"),
    relatives=words("che cui"),
    articles=words(_ARTICLES),
    indefinite=words("un uno una"),
    links=words("di del dello della dell dei degli delle d"),
    prepositions=words(_PREPOSITIONS),
    auxiliaries=words(_AUX),
    copulas=words("è sono era erano fu furono"),
    manner_words=words("come quando dove perché"),
    relational=words(_RELATIONAL),
    time_nouns=words("anno mese settimana giorno sera mattina notte volta momento secolo estate inverno weekend"),
    general_nouns=words(
        """regione paese città zona stato azienda società organizzazione gruppo squadra film libro romanzo album
        canzone serie malattia patologia condizione disturbo infezione farmaco medicinale vaccino sistema teoria
        processo evento guerra battaglia movimento partito esperimento studio test esame progetto animale pianta
        persona uomo donna artista scrittore piatto edificio museo programma software dispositivo legge trattato
        contratto procedura intervento operazione"""
    ),
    sort_nouns=words("tipo tipi tipologia tipologie varietà specie razza razze marca marche versione modello genere"),
    sorting_words=words("che quale quali qual cosa"),
    ordinals={
        **numbered(
            "primo prima primi prime 1º 1°,secondo seconda 2º,terzo terza 3º,quarto quarta,quinto quinta,sesto sesta,"
            "settimo settima,ottavo ottava,nono nona,decimo decima"
        ),
        "ultimo": -1,
        "ultima": -1,
        "ultimi": -1,
        "ultime": -1,
        "penultimo": -2,
        "penultima": -2,
    },
    cardinals=numbered("uno,due,tre,quattro,cinque,sei,sette,otto,nove,dieci"),
    neighbours={
        "prossimo": 1,
        "prossima": 1,
        "successivo": 1,
        "successiva": 1,
        "seguente": 1,
        "precedente": -1,
    },
    list_nouns=words(
        """punto punti voce voci elemento elementi passo passi passaggio passaggi opzione opzioni numero numeri
        n nr riga righe sezione sezioni paragrafo suggerimento suggerimenti motivo motivi ragione ragioni
        consiglio consigli metodo metodi approccio alternativa alternative scelta idea idee soluzione soluzioni
        proposta proposte comando comandi causa cause esempio esempi argomento parte esercizio esercizi strada"""
    ),
    list_owners=words(
        """lista elenco risposta tua tuo questi queste quelli quelle loro precedente tabella sopra due tre
        quattro cinque"""
    ),
    ones=frozenset(),
    ordinal_stoppers=words("a ad che in di del della dei degli delle dello dell da su più meno"),
    both=words("entrambi entrambe ambedue"),
    every=words("tutti tutte"),
    none=words("nessuno nessuna"),
    none_alone=frozenset(),
    not_alone=words("prima"),
    label_articles=words("il la l del della dell sul sulla sull al alla all"),
    label_article_needed=True,
    requests=words(
        """elabora dettaglia sviluppa approfondisci approfondire espandi chiarisci chiariscimi spiega spiegami spiegare
        descrivi descrivimi ripeti ripetimi riassumi illustra commenta analizza mostra mostrami fammi vedere dimmi
        parlami parla raccontami dammi voglio vorrei puoi potresti sapere mi interessa interessano di più su per
        meglio solo soltanto e ok sì allora prima anche qualcosa dettagli sul sulla sui favore i le gli punti
        riprendi salta posso un esempio esempi con in parole semplici povere brevemente"""
    ),
    rests=words("altri altre resto restanti rimanenti"),
    partitives=words("ne"),
    number_words=words("numero numeri n nr"),
    measures=r"\b(?:metri|m|km|chilometri|bit|byte|fotogrammi|frame|giri|volte|litri|battiti|cicli) al secondo\b",
    group_pronouns=words("questi queste quelli quelle loro essi esse"),
    set_articles=words("i dei tra fra ai delle tutti tutte"),
    infinitive=r"\w{2,}(?:are|ere|ire|rre)",
    first_person=r"\w{4,}o",
    action_askers=words("cosa"),
    feminine=words("la una della dalla alla nella sulla"),
    masculine=words("il lo un uno del dello dal dallo al allo nel nello sul sullo"),
    of_two=frozenset(),
    personal=words("lui lei esso essa essi esse loro ciò"),
    plural_pronouns=words("loro essi esse questi queste quelli quelle li"),
    person_pronouns=words("lui lei"),
    possessive=words("suo sua suoi sue"),
    demonstrative=words(
        "questo questa questi queste quest quel quello quella quelli quelle quei quegli quell tale tali"
    ),
    place=words("lì là"),
    clitics=words("lo la li le l ne"),
    clitic_hosts=words(
        """si ho hai ha abbiamo avete hanno posso puoi può possiamo possono devo devi deve dobbiamo devono
        voglio vuoi vuole vogliono vorrei faccio fai fa fanno prendo prendi prende metto metti mette so sai sa
        trovo trovi pago paghi compro compri conservo conservi preparo prepari uso usi installo disinstallo
        configuro conosci conosco scrisse pubblicò scoprì inventò fondò uccise vinse costruì dipinse compose
        diresse ideò creò chiamano usano mangiano soffrono esistono parli parlo soffre esiste abbino vede vedo
        vedi sconsigli consigli spieghi"""
    ),
    enclitic=(
        r"\b(?:\w{2,}(?:ar|er|ir|ur)(?:lo|la|li|le|gli)|[fd][ai]r(?:lo|la|li|le)|\w{2,}(?:ar|ir)ne|farne"
        r"|averne|saperne"
        r"|\w{3,}(?:me|te|ce|glie)(?:lo|la|li|ne)"
        r"|(?:spiega|riassumi|descrivi|traduci|ripeti|confronta|approfondisci|chiarisci|elenca|correggi"
        r"|riscrivi|fa|"
        r"usa|prova|mostra|analizza|semplifica|sviluppa|accorcia|espandi)l(?:l)?[oaie])\b"
    ),
    subject_pronouns=frozenset(),
    replaceable=frozenset(),
    owned=frozenset(),
    person_words=words("chi"),
    comparatives=words("più meno prima dopo meglio peggio maggiore minore"),
    announced={"lo": "il lo l un uno", "la": "la l una", "l": "il lo la l un una", "li": "i gli", "le": "le"},
    own_subject=r"\w+(?:o|i|mo|te|no)",
    pleonastic=(
        r"\bquesto punto\b|\bin questo momento\b|\bne vale la pena\b|\b(?:che )?ne (?:pensi|dici)\b"
        r"|\bquest anno\b"
        r"|\bquello che\b|\bquella che\b|\bquelli che\b|\bquelle che\b|\bciò che\b|\bper carità\b"
        r"|\bin quel di\b"
        r"|\b(?:la|le) (?:usa|cura|causa|prova)\b"
    ),
    fillers=words(
        """per favore piacere ok okay va bene grazie mille sì si certo perfetto ottimo interessante bello capito
        chiaro ah oh molto bravo fantastico allora ora adesso e ma mi ti puoi potresti può potrebbe riesci a
        vorrei voglio piacerebbe potete dai pure ancora un po cortesemente gentilmente scelgo prendo preferisco
        direi il la lo l i con dimmi"""
    ),
    polite_endings=words("per favore piacere cortesia grazie mille pure scusa dai ora adesso"),
    going_on=(
        r"(?:continu(?:a|are|i|iamo)|prosegu(?:i|ire|a|iamo)|(?:va|vai|vada|andiamo|andare) avanti|avanti"
        r"|procedi|procediamo"
        r"|(?:e )?(?:poi|dopo|quindi|allora)(?: cosa)?(?: (?:si fa|faccio|facciamo|devo fare|succede|viene))?|e"
        r"|(?:e )?(?:poi )?(?:cosa|che) (?:succede|viene|c è)(?: (?:poi|dopo))?"
        r"|(?:c è |hai |sai |vuoi )?(?:altro|dell altro|qualcos altro|nient altro)|cos altro|che altro"
        r"|tutto qui|è tutto"
        r"|(?:dim+i|dire|dirmi|raccont\w+|parl(?:ami|armi|amene|armene)|sape(?:re|rne)|dammi|darmi|avere|serve"
        r"|servono)"
        r"(?: (?:altro|ancora|tutto))?(?: qualcosa)?|(?:qualcosa )?(?:di|in) più"
        r"|(?:(?:dammi|darmi|dare|dai|avere|servono|aggiungi) )?(?:più|altri|altre|maggiori|ulteriori|qualche"
        r"|alcuni)"
        r" (?:dettagli|dettaglio|informazioni|info|particolari|chiarimenti|spiegazioni)"
        r"|(?:(?:fammi|fare|farmi|fai|dammi|darmi|dare|dai|mostrami|vedere|avere|serve) )?(?:un|uno|qualche"
        r"|un altro|altri"
        r"|degli|alcuni) esempi[o]?(?: (?:pratic[oi]|concret[oi]|real[ei]|semplic[ei]))?|(?:per|ad|tipo"
        r"|come ad)? ?esempio"
        r"|approfond(?:isci|ire|iamo|imento|iresti)|(?:ri)?spieg(?:a|ami|amelo|ati|are|armi|armelo|arti|arlo"
        r"|alo|hi)"
        r"|chiari(?:sci|scimi|re|rmi|sca)|ripet(?:i|ere|imi|imelo)|riformul(?:a|are)|semplific(?:a|are)"
        r"|svilupp(?:a|are)"
        r"|elabora|espandi|dettaglia|entra|entrare|vai|andare|andiamo|scendi|sii|essere|(?:di )?nuovo"
        r"|non (?:(?:l )?ho (?:ben )?capito|capisco|(?:mi )?è (?:ancora |molto |del tutto )?chiaro|ci arrivo)"
        r"|mi sono pers[oa]"
        r"|cioè|ossia|vale a dire|in che (?:senso|modo)|(?:cosa|che) (?:intendi|vuoi dire|vuol dire|significa)"
        r"|tipo|il resto"
        r"|finisci|completa)"
    ),
    going_on_tails=(
        r"(?:l ultima (?:cosa|frase|parte)"
        r"|meglio|bene|di più|più a fondo|a fondo|ancora|di nuovo|nuovamente|un po|un po di più|specifico"
        r"|preciso"
        r"|(?:più )?(?:in|nel) dettaglio|nei dettagli|più(?: (?:chiaro|chiara|chiaramente|semplice"
        r"|semplicemente|specifico"
        r"|specifica|preciso|precisa|dettagliato|dettagliata))?|in modo (?:più )?(?:semplice|chiaro"
        r"|dettagliato)"
        r"|con (?:un esempio|degli esempi|parole (?:più )?(?:semplici|tue))|in (?:altre parole"
        r"|parole (?:semplici|povere))"
        r"|passo (?:per )?passo|da (?:qui|lì|dove eri rimast[oa])|come (?:se avessi|a un bambino"
        r"|se fossi)(?: \w+){0,2}|questo(?: punto| aspetto| concetto)?|l argomento|il discorso"
        r"|il tema|la questione|(?:con )?la (?:spiegazione|storia|lista|risposta)|l elenco|il racconto|molto"
        r"|per niente|a (?:raccontare|spiegare|parlare|scrivere|elencare)|per (?:favore|piacere|cortesia)"
        r"|da (?:dire|aggiungere|sapere))"
    ),
    openers=(
        r"^(?:ok |allora |sì |bene )?(?:e|ed|ma|o|oppure|invece|e invece) (?:per quanto riguarda "
        r"|riguardo (?:a|al|alla|ai|alle) |invece )?"
        r"(?!se |per chi )(?P<rest>.+)$"
        r"|^(?:e|ma) se (?P<condition>.+)$|^(?:e|ma) per chi (?P<whoever>.+)$"
    ),
    bare_question=(
        r"^(?:e |ma )?(?:perché|perche|come mai|come|quando|dove|chi|quale|quali|quanto|quanta|quanti|quante"
        r"|perché no"
        r"|da quando|da quanto(?: tempo)?|fino a quando|per quanto(?: tempo)?|per chi|con chi|con cosa|da chi"
        r"|a chi|a cosa"
        r"|di chi|in che (?:modo|senso)|a che (?:età|ora|prezzo)|ogni quanto|quant[oaie] \w+|in quanto tempo"
        r"|e allora"
        r"|quale|quali)$"
    ),
    zero_subject=(
        r"^(?:e |ma )?(?:(?:come|quando|dove|perché|quanto|da dove|in che anno|in che senso|come mai) )?"
        r"(?:non )?(?:è|sono|era|erano|fu|furono|è stato|è stata|sono stati|sono state|resta|diventa) "
        r"(?:anche |davvero |sempre |molto |così |ancora |proprio |più |meno |stato |stata )*"
        r"(?P<predicate>[^\W\d_]{4,})(?: (?:anche|di solito|davvero|o no|o meno|oggi|ancora|sempre))?$"
    ),
    statement=(
        r"\b(?:mi |ci |tu |non |ma |prima ){0,3}(?:hai|avevi|avresti) (?:appena |prima |già |anche |forse )?"
        r"(?:detto|scritto|affermato|sostenuto|dichiarato|risposto|asserito)(?: prima| sopra)? (?:che|di)\b"
        r"|\b(?:hai|avevi) (?:appena |prima |già )?(?:spiegato|menzionato|accennato|suggerito|consigliato"
        r"|precisato) che\b"
        r"|\b(?:prima |mi )?(?:dicevi|sostenevi|affermavi|scrivevi|dici|sostieni|affermi)(?: prima"
        r"| sopra)? (?:che|di)\b"
        r"|\bsecondo (?:te|quanto|quello che) (?:hai detto|dicevi|hai scritto)\b"
    ),
    back=(
        r"\b(?:quello|quanto|ciò|cosa|come) (?:che )?(?:mi |ci )?(?:hai|avevi) (?:appena |prima |già )?"
        r"(?:detto|spiegato|scritto|raccontato|accennato|risposto|menzionato)(?: prima)?"
        r"(?: (?:a proposito|riguardo|su|sul|sulla|sullo|sui|sulle|sugli|sull|circa|di|del|della|dei))*\b"
        r"|\b(?:quello|ciò|quanto|come) (?:che )?(?:mi )?(?:dicevi|spiegavi|scrivevi|raccontavi|accennavi)\b"
        r"|\b(?:di|a|su) cui (?:mi |ci )?(?:parlavi|parlavamo|abbiamo parlato|hai parlato|avevi parlato"
        r"|accennavi|sopra|prima)\b"
        r"|\b(?:torniamo|tornando|ritorniamo|ritornando|torna|ritorna|tornare|riprendiamo|riprendi"
        r"|riprendendo|riprendere)"
        r"(?: un attimo| un momento)?(?: (?:a|al|alla|alle|agli|ai|allo|all|su|sul|sulla|il|la|lo|i|gli|le|l"
        r"|da|dal|dalla))?\b"
        r"|\bche (?:mi |ci )?(?:hai|avevi) (?:appena |prima |già )?(?:citato|menzionato|consigliato|suggerito"
        r"|nominato|elencato"
        r"|indicato|proposto|descritto|spiegato|detto|dato|raccomandato)\b"
        r"|\b(?:hai|avevi) (?:appena |prima |già )?(?:citato|menzionato|nominato|accennato (?:a|al|alla|ai))\b"
        r"|\bcome (?:prima|sopra|in precedenza)" + _CLAUSE_END + r"|\b(?:detto|visto|citato|citata|menzionato"
        r"|menzionata) (?:prima|sopra|in precedenza)\b"
        r"|\bprima (?:hai|avevi) parlato\b|\babbiamo (?:parlato|discusso|visto)\b|\bdi prima\b"
        r"|\bsopra citat[oaie]\b"
    ),
    recalled=(
        r"\b(?:cosa|che) (?:mi |ci )?(?:dicevi|raccontavi)(?: prima)? " + _ABOUT + r"\b"
        r"|\b(?:accennavi|parlavi|menzionavi|citavi)(?: prima| poco fa)? " + _ABOUT + r"\b"
        r"|\b(?:hai|avevi) (?:appena |prima |già )?parlato " + _ABOUT + r"\b"
        r"|\bcome (?:accennato|spiegato|anticipato|detto)\b"
    ),
    the_one=(
        r"\bquell[oaie] " + _ABOUT + r" (\w+(?: \w+){0,3})"
        r"|\bquell[oaie] (?:con|col|coi|per|in|nel|nella|da|dal|dalla|dall|dai) (\w+(?: \w+){0,3})"
        r"|\b(?:quell[oae]|quelli) (\w{4,})(?= ?$| [^\w\s]| (?:com|quanto|quando|dove|perché|è|ha|costa|va)\b)"
    ),
    last_answer=(
        r"\b(?:tua|la|nella|della|dalla|alla) (?:ultima |precedente )?risposta(?: precedente| di prima"
        r"| sopra)?\b"
        r"|\bl ultima risposta\b|\b(?:elenco|lista|tabella|riassunto|testo|codice) (?:sopra|precedente"
        r"|di prima|qui sopra)\b"
        r"|\bhai appena (?:detto|scritto|spiegato)\b|\b(?:di cui|qui) sopra\b|\bcome prima" + _CLAUSE_END
    ),
    comparison=(
        r"\brispetto a(?:l|llo|lla|ll|i|gli|lle)?\b|\bin confronto\b|\bconfront\w+\b|\bdifferenz[ae]\b"
        r"|\b(?:più|meno|è meglio|è peggio|migliore|peggiore) (?:\w+ )?(?:di|del|dello|della|dell|dei|degli"
        r"|delle|che)\b"
        r"|\bpiuttosto che\b|\bparagon\w+\b"
    ),
    bare_comparison=(
        r"^(?:e |ma |allora )?(?:qual|quale|quali)(?: (?:è|sono|era|conviene|costa|costano|dura|funziona"
        r"|funzionano|consigli"
        r"|mi consigli|preferisci|scegliere|va|vale|fa|pesa|rende|consuma))?"
        r"(?: (?:il|la|i|le))?(?: (?:più|meno)(?: \w+)?| migliori?| peggiori?| meglio| peggio| di più"
        r"| di meno){1,2}"
        r"(?: (?:tra|fra|di|dei|delle|degli) (?:i |le |gli )?(?:due|tre|quattro|cinque|questi|queste|quelli"
        r"|loro|tutti|tutte))?(?: \?)?$"
        r"|^(?:e |ma )?(?:che|quale|qual è la|quali sono le|c è) ?(?:principali? )?differenz[ae](?: c è)?"
        r"(?: (?:tra|fra) (?:i due|le due|loro|questi|queste|i tre|le tre|questi due|queste due))?(?: \?)?$"
        r"|^(?:e |ma )?qual[ei] (?:mi )?(?:consigli|consiglieresti|preferisci|scegliere|scelgo|sceglieresti"
        r"|conviene|prendo"
        r"|compro|devo (?:scegliere|prendere|comprare))$"
        r"|\bqual[ei]? (?:di|dei|delle|tra|fra) (?:i |le )?(?:questi|queste|quelli|loro|due|tre|quattro"
        r"|cinque)\b"
        r"|^(?:mi )?confront(?:ali|ale|a (?:i due|le due|questi|queste|tutti))\b"
    ),
    headless=(
        r"^(?:e |ma )?(?:qual|quale|quali|chi) (?:è|sono|era|erano|fu) (?:stato |stata )?"
        r"(?:il|la|i|le|gli) (?:più \w{4,}|meno \w{4,}|migliore|migliori|peggiore|peggiori)"
        r"(?: (?:in|per|del mondo|al mondo|d italia|di tutti|di sempre|tra)\b| ?\?| ?$)"
        r"|\b(?:divers[oaie]|simil[ei])$"
    ),
    presupposing=(
        r"^(?:e |ma )?(?:quali|quale|che|chi|cos|cosa|dove|come) altr[oaie]\b|\b(?:ci sono"
        r"|c è) (?:anche )?altr[oaie]\b"
        r"|^(?:e |ma )?ci sono (?:dei |delle |degli |alcuni |alcune )?\w+(?: \w+)?$"
    ),
    plural_of=(r"^(?:e |ma )?quali (?:sono|erano|furono) (?:i|gli|le) (?P<head>\w+[ie])(?P<other> \w+[ie])(?: \?)?$"),
    introduction=(
        r"^(?:\w+ ){0,2}(?:parlami|parliamo|raccontami|dimmi|descrivi(?:mi)?|spiegami|definisci"
        r"|(?:che )?cos(?:a)? (?:è|sono|era|erano)"
        r"|chi (?:è|era|sono|erano|fu|furono)|cosa (?:sai|significa|vuol dire)|voglio sapere)\b"
    ),
    choice_words=words("o oppure"),
    between_words=words("tra fra"),
    clarifying=Clarifying(which="Quale: {options}?", joiner="o"),
    sequence={
        **dict.fromkeys(
            ("in primo luogo", "per prima cosa", "innanzitutto", "anzitutto", "primo", "prima di tutto"), 1
        ),
        **dict.fromkeys(("in secondo luogo", "secondo"), 2),
        **dict.fromkeys(("in terzo luogo", "terzo"), 3),
        **dict.fromkeys(("in quarto luogo", "quarto"), 4),
        **dict.fromkeys(("infine", "da ultimo", "in ultimo"), 0),
    },
    onset_article={"lo": r"(?:s[^aeiou\W]|z|gn|ps|pn|x|y|i[aeiou])", "quello": r"(?:s[^aeiou\W]|z|gn|ps|pn|x|y)"},
)
