"""Italian: the sentences that the reader says itself, and how messages greet, state, order and ask."""

from ricordo.languages.base import DialogueWords, ReaderPhrases
from ricordo.languages.patterns import words

READER = ReaderPhrases(
    opening="Dal materiale, con le sue parole (risposta estrattiva):",
    absent=(
        "Nel materiale non c'è una risposta a questa domanda, e nemmeno in quello che ci siamo detti. "
        "Dimmelo, o aggiungi un documento, e potrò rispondere."
    ),
    no_more="Il materiale non dice altro su questo.",
    greeting="Ciao! Che cosa posso fare per te?",
    thanks="Prego!",
    okay="Va bene.",
    farewell="A presto!",
    nothing_yet=(
        "Rispondo dai tuoi documenti e da quello che mi racconti. Aggiungi un documento o dimmi qualcosa di te."
    ),
    noted="Annotato: {quote}. Dimmi se qualcosa non è giusto.",
    remembered="Me lo ricordo: {quote}. Per annullare, dimmi di dimenticarlo.",
    standing="D'ora in poi: {quote}. Per annullare, dimmi di dimenticarlo.",
    forgotten="Dimenticato: non uso più quello che mi avevi detto su questo.",
    nothing_to_forget="Non trovo niente su questo, quindi non c'è niente da dimenticare.",
    you_said="Hai detto ({day}): «{quote}»",
    i_said="Ho detto ({day}): «{quote}»",
    confirmed="Sì, l'ho detto ({day}): «{quote}»",
    nearest="In quello che ci siamo detti non lo trovo. La cosa più vicina è questa ({day}): «{quote}»",
    never_said="In quello che ci siamo detti non lo trovo.",
    both="Ne parlano sia il materiale sia quello che ci siamo detti:",
    which="Quale intendi: {names}?",
    until="Fino a {day}: {quote}",
    talk="Di che cosa abbiamo parlato ({day}):",
    talk_user="- Tu: «{quote}»",
    talk_assistant="- Io: «{quote}»",
    no_talk="Non trovo nessuna conversazione di quel momento o su questo.",
    known="Che cosa so di te, con le tue parole:",
    fallback="Il modello non ha risposto; questa risposta è citata dal lettore interno.",
)

DIALOGUE = DialogueWords(
    greetings=(
        r"ciao+|salve|ehi|ehila|hey|buon ?giorno|buona ?sera|buon pomeriggio|ben ?trovato|piacere|eccomi"
        r"|sono (?:io|qui)"
        r"|rieccomi|di nuovo qui|come (?:stai|va|sta)(?: oggi)?|tutto bene|ci sei|miao"
    ),
    thanks=(
        r"grazie+(?: (?:mille|tante|infinite|di cuore|di tutto))?|ti ringrazio|la ringrazio|sei (?:un|una|il"
        r"|la) \w+"
    ),
    farewells=(
        r"arrivederci|a presto|alla prossima|buona ?notte|notte|buona giornata|buona serata|ci (?:sentiamo|vediamo)"
        r"|addio|a (?:domani|dopo|piu tardi)"
    ),
    okays=(
        r"ok(?:ay|ei)?|va bene|bene|perfetto|ottimo|capito|d'accordo|certo|esatto|giusto|scusa\w*|si|no"
        r"|bella|bello|top|ah"
        r"|oh|ahah\w*|wow|uff\w*|mah|boh|figo|grande"
    ),
    question_openings=(
        r"(?:(?:e|ma|allora|ok|ehi|ciao|scusa|senti|quindi|poi|per favore|raga)\b[ ,]*)*"
        r"(?:(?:di|a|da|in|con|su|per|fra|tra|fino a|del|al|dal|nel|sul) ?)?"
        r"(?:che|chi|cosa|cos'|qual|quale|quali|quanto|quanta|quanti|quante|quant'|dove|dov'|quando|perche|come|com')\b"
    ),
    wh_words=r"che|chi|cosa|cos|qual|quale|quali|quanto|quanta|quanti|quante|dove|dov|quando|perche|come|com",
    tell_me=(
        r"(?:(?:per favore|mi puoi|puoi|potresti)[ ,]*)*(?:dimmi|dirmi|spiega\w*|elenca\w*|descrivi\w*"
        r"|definisci\w*|confronta\w*"
        r"|riassum\w*|ricordami (?:che cosa|cosa|chi|quando|dove|quale|quanto|come|il|la|lo|i|le|gli)"
        r"|parlami|raccontami|fammi|continua|vai avanti|approfondisci|vorrei (?:sapere|capire)|voglio (?:sapere|capire)"
        r"|mi ricordi|ti ricordi)"
    ),
    remember=(
        r"(?:per favore |puoi |potresti |ok )*(?:ricordati|ricordarti|ricorda|si ricordi|si segni"
        r"|si annoti|segnati|segnare|segna"
        r"|annotati|annota|tieni (?:a mente|presente|conto)|tenga (?:a mente|presente)|non dimenticar\w*"
        r"|memorizza|prendi nota)"
        r"(?: (?:che|di|questo))?[:,]? "
    ),
    forget=(
        r"(?:per favore |puoi |potresti |ok )*(?:dimenticati|dimenticare|dimentica|dimentichi"
        r"|si dimentichi|scordati|scorda|cancella"
        r"|elimina|togli dalla memoria|non ricordare)(?: (?:che|di|quello che ti ho detto (?:su\w*|di\w*)))? "
    ),
    standing=(
        r"(?:per favore |ok )*(?:d'ora in (?:poi|avanti)|da (?:ora|adesso|oggi)(?: in (?:poi|avanti))?"
        r"|in futuro|chiamami|mi chiami"
        r"|rispondi(?:mi)? (?:sempre|in breve|brevemente)|scrivi(?:mi)? sempre)\b"
    ),
    first_person=(
        r"io|mi|me|mio|mia|miei|mie|sono|ho|noi|abbiamo|siamo|nostro|nostra|ci|vado|faccio|devo|voglio"
        r"|vorrei|posso|lavoro"
        r"|abito|vivo|studio|\w{3,}(?:iamo)"
    ),
    assistant_said=(
        r"(?:me l'|mi |te l'|lei |tu )*(?:(?:avevi|hai|aveva|ha|avessi|avesse|eri|eri stato tu a"
        r"|e stato lei a|sei stato tu a"
        r"|non (?:mi )?(?:avevi|hai)) (?:tu |lei |gia |anche |pure |mica )*(?:detto|consigliato|suggerito"
        r"|proposto|raccomandato"
        r"|spiegato|parlato|scritto|promesso|avvisato|dirmi|consigliarmi)|dicevi|diceva|consigliavi"
        r"|suggerivi|stato tu a dirmi"
        r"|tu detto|mi consigli\w* tu)"
    ),
    user_said=(
        r"(?:te l'|ti |non )*(?:avevo|ho) (?:gia |mica |per caso )*(?:detto|chiesto|parlato|raccontato|scritto"
        r"|accennato)"
    ),
    claim_tags=(
        r"vero|giusto|no|esatto|ricordi|o sbaglio|se non sbaglio|sbaglio|mi pare|mi sembra|che|tu|lei|mi"
        r"|me|di|e|pure|anche|non|gia"
        r"|ti|eri|stato|a|dirmi"
    ),
    talk=(
        r"(?:di )?(?:che cosa|cosa|che) (?:\w+ )?(?:abbiamo|avevamo|ci siamo|ci eravamo|s'e|si e"
        r"|stavamo) ?(?:\w+ )?(?:parlato|discusso|detti"
        r"|detto|dette|trattato|fatto|visto|parlando|chiacchierato|affrontato)|(?:di )?(?:che cosa|cosa"
        r"|che) (?:\w+ )?(?:parlavamo"
        r"|discutevamo|dicevamo|si diceva|s'e detto|si e detto)|riassu\w+|riepilog\w+|ricapitol\w+"
        r"|(?:di )?(?:che cosa|cosa|che) (?:ti )?(?:avevo|ho) chiesto (?:\w+ )?(?:la settimana|ieri|oggi"
        r"|il mese|su\w*|l'altro)"
        r"|(?:nostra|ultima) (?:conversazione|chat|chiacchierata|sessione|discussione)|dove (?:eravamo"
        r"|ci eravamo|siamo) (?:rimasti|arrivati|fermati)"
        r"|quali argomenti .*\b(?:abbiamo|trattato)"
    ),
    last_session=(
        r"ultim[aoe] (?:volta|chat|conversazione|sessione|chiacchierata|incontro|lezione)|l'ultima"
        r"|scorsa volta|volta scorsa"
    ),
    about_me=(
        r"(?:che cosa|cosa|che|quanto) (?:\w+ )?(?:sai|ricordi|ti ricordi|conosci|hai imparato"
        r"|hai memorizzato) (?:\w+ )?(?:di|su) me"
        r"|chi sono(?: io)?\W*$|(?:dimmi|elenca) .*(?:sai|ricordi) di me"
    ),
    wanted={
        "person": (
            r"chi|(?:quale|che) (?:persona|amic\w+|collega|medic\w+|dottor\w+|profess\w+|cantante)|di chi"
            r"|con chi|a chi"
        ),
        "name": r"(?:nome|chiam\w+|cognome|soprannome|si intitola)",
        "number": (
            r"quant\w+|che (?:ora|ore|eta|numero|prezzo|voto|dose|percentuale|taglia)|(?:qual"
            r"|quale) .*\b(?:numero|prezzo|eta|dose"
            r"|percentuale|temperatura|codice|costo|stipendio|affitto|budget|voto|importo|pin|targa|telefono)"
        ),
        "time": (
            r"quando|a che ora|che (?:giorno|ora|data|anno|mese)|(?:qual|quale) (?:giorno|data|anno|mese)"
            r"|fino a quando|da quando|in che (?:data|anno|mese|giorno)"
        ),
        "place": (
            r"dove|dov'e|(?:in|di|da) (?:che|quale) (?:citta|paese|posto|via|luogo|sala|parte|zona|quartiere|regione)"
            r"|(?:che|quale) (?:citta|paese|posto|via|luogo|indirizzo)"
        ),
        "reason": r"perche|come mai|per quale motivo|per che motivo",
    },
    held={
        "number": (
            r"un|uno|una|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|undici|dodici|tredici"
            r"|quattordici|quindici|sedici"
            r"|diciassette|diciotto|diciannove|venti\w*|trent\w*|quarant\w*|cinquant\w*|sessant\w*"
            r"|settant\w*|ottant\w*|novant\w*"
            r"|cent\w*|mill\w*|mila|mezz\w*|terzo|quarto|quinto|meta|doppio|decina|dozzina|paio|ogni"
            r"|sempre|mai|volta|volte"
        ),
        "time": (
            r"lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica|gennaio|febbraio|marzo|aprile"
            r"|maggio|giugno|luglio|agosto"
            r"|settembre|ottobre|novembre|dicembre|oggi|domani|ieri|stasera|stamattina|mattin\w*"
            r"|pomeriggio|sera|notte|mezzogiorno"
            r"|mezzanotte|primavera|estate|autunno|inverno|natale|pasqua|settiman\w*|mes[ei]|ann[oi]"
            r"|giorn[oi]|or[ae]|minut[oi]"
            r"|dopo|prima|finche|fino|quando|cena|pranzo|colazione|alba|tramonto|nascita|compleanno"
        ),
        "reason": r"perche|poiche|siccome|quindi|cosi|per|motivo|causa|da quando|altrimenti|senno|dato che|visto che",
    },
    past_words=words(
        """ricordi ricordo ricorda detto dicevi dice dire avevi avevo avevamo hai ho aveva parlato consigliato suggerito
        indicato insegnato proposto raccomandato dovevo devo deve bisogna chiedo chiesto adesso ora ancora attualmente
        momento oggi fare faccio fa fatto posso puo voglio vorrei chiama chiamo chiamava nome sono era stato stata stai
        cosa cose tipo modo mettere messo dato dai secondo te proprio gia anche invece quello quella mi ti si ci avrei
        sapere sai metto tengo tenere usare uso serve servono vuole vuoi"""
    ),
    synonyms=(
        words("mamma madre mammina"),
        words("papa padre babbo"),
        words("lavoro mestiere professione impiego lavori faccio"),
        words("cane cagnolino cagnolina cucciolo labrador"),
        words("dottore medico dottoressa"),
        words("figlio figlia bambino bambina figli bimbo bimba"),
        words("esame verifica interrogazione esami test"),
        words("macchina auto automobile"),
        words("capo titolare principale"),
        words("moglie marito compagno compagna"),
        words("costa costo prezzo pago pagare spendo chiede euro rata affitto quota"),
        words("casa appartamento abitazione"),
        words("malattia patologia diagnosi disturbo"),
        words("medicina farmaco pastiglia pillola compressa"),
        words("insegnante prof professore professoressa maestra"),
        words("negozio attivita bottega studio"),
        words("pratica richiesta domanda"),
        words("scuola istituto liceo alberghiero"),
    ),
    changed=(
        r"ora|adesso|invece|alla fine|cambiat\w+|spostat\w+|non piu|nuov\w+|alzat\w+|aumentat\w+|passat\w+"
        r"|anzi|correggo|aggiorn\w+"
    ),
)
