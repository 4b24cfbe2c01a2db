"""The English table: words and patterns, nothing else."""

from ricordo.languages.followups_base import Clarifying, Language, numbered, words

_ARTICLES = "the"
_AUX = """is are was were be been being am isn aren wasn weren do does did don doesn didn have has had haven
    hasn hadn can could will would shall should may might must cannot couldn wouldn shouldn won"""
_PREPOSITIONS = """of in on at to for with from by about as into like through after over between out against
    during without before under around among within upon towards toward beyond across behind near per via than
    since until till above below despite versus vs regarding concerning"""
_WH = "what which who whom whose where when why how"
_PRONOUNS = """i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
    myself yourself himself herself itself themselves this that these those one ones someone something anyone
    anything everyone everything nobody nothing else other others another there here"""
_SMALL = """a an the and or but nor so if because while although though whereas unless whether not no yes too
    very just also only even still yet ever never always often usually sometimes again already now then really
    quite rather enough almost some any each every all both either neither none few many much more most less
    least several such same own up down off s t d ll re ve m let ok okay please thanks thank hello hi maybe
    perhaps long far soon well instead today currently actually exactly possibly it's"""
_VERBS = """accept accepts add adds affect affects allow allows apply applies ask asks avoid avoids bake become
    becomes became begin begins began bring brings brought build builds built buy buys bought call called calls
    cause caused causes causing change changes changed check choose chose come comes came compare compares
    compared contain contains continue continues convert cost costs cover covers create creates created cure cut
    deal decide delete describe described develop developed did die dies died differ differs discover discovered
    do does doing done drink eat eats enable enabled end ended ends exist exists expand explain explains
    explained fail fails feed feel feels felt fight find finds finding fix fixed follow follows found freeze
    gave get gets getting give gives given go goes going gone got grow grows grew happen happened happens
    happening have having hear help helps helped hold holds impact improve include includes included increase
    influence influenced install keep keeps kept kill kills know known knows last lasted lasts lead leads learn
    leave leaves led left live lives lived look looking looks lose lost made make makes making manage matter
    matters mean means meant meet met mix move moved moves need needed needs open operate pay pick plan plant
    play played plays prepare prevent prevents produce produced proof provide provides published put read reduce
    remain remove removes require required requires rise rose run runs said save saw say says see seen sell
    sells send serve served set share show showed shows sign sit skip sleep solve speak spread spreads start
    started starts stay stop stopped stops study suffer suggest survive survived take taken takes taking taste
    teach tell think told took travel treat treated treats tried try turn turned turning understand undo use
    used uses using visit want wanted wants was wash watch wear went win wins won work worked works working
    worry write wrote written born calculated received appear appears seem seems sound sounds"""
# Adjectives that rank or count and never belong to a name.
_EMPTY = """main major key best better worst biggest largest smallest important possible typical usual different
    certain various specific latest famous notable other similar first second third last next previous highest
    lowest oldest cheapest safest easiest significant interesting such"""
_MODIFIERS = """common popular good bad big bigger large larger small smaller average general current recent new
    old older side early late long short high higher low lower total exact official original overall actual safe
    safer dangerous effective expensive cheap cheaper easy easier hard harder primary top normal suitable
    appropriate available recommended necessary likely free legal worth true real"""
_RELATIONAL = """ability abilities accident accomplishments achievement achievements address adaptations
    advantage advantages age alternative alternatives amount answer application applications area argument
    arguments aspect aspects author authors award awards background basis beginning behavior behaviour behaviors
    benefit benefits birth birthday body boss budget calories candidate candidates capacity capital career
    category categories cast cause causes challenge challenges chance chances change changes chapter chapters
    character characters characteristic characteristics child children choice class classes climate color colors
    colour colours comparison complication complications component components composition concept concepts
    condition conditions consequence consequences contraindications cost costs creator creators criteria
    criticism criticisms culture cure cures currency daughter date dates deadline deadlines death defects
    definition description design details diagnosis diet difference differences difficulty dimensions director
    disadvantage disadvantages discovery discoveries distance dosage dose drawback drawbacks duration economy
    education effect effects element elements ending environment era event events evidence evolution example
    examples exception exceptions exercises factor factors family fate father feature features fee fees film
    findings flag formula founder founders function functions future gender goal goals grade grades height
    highlight highlights history husband idea ideas impact implications importance ingredient ingredients
    influence influences inspiration inventor issue issues job kind kinds language law laws leader leaders
    legacy length level levels life lifespan lifestyle limit limits limitation limitations line lines location
    luck lyrics manager material materials meaning measure measures mechanism member members method methods
    model models mother motivation movement name names nature nationality number numbers objective objectives
    occupation office opinion option options origin origins outcome outcomes owner parent parents part parts
    payment people percentage period phase phases place places plot point points population position practices
    precautions price prices principle principles problem problems procedure process processes product products
    prognosis properties property pros cons purpose quality quantity range rate rates rating ratings reaction
    reason reasons reception recipe relationship release remedies remedy requirement requirements response
    result results rest review reviews risk risks role roles root roots rule rules salary salient schedule
    section sections series set setting shape side sign significance signs similarities size solution solutions
    son source sources species speed stage stages standard start statistics status step steps story strategy
    strength strengths structure style subject success summary symptom symptoms system tactics tax taxes
    technique techniques temperature term terms theme themes theory time tip tips title tour tradition
    traditions traits treatment treatments trend trends type types uses value values variety version versions
    view views war warnings way ways weakness weaknesses wealth weather weight wife winner work works year years"""

_REPORTED = (
    r"(?:said|believed|thought|known|claimed|argued|estimated|reported|assumed|supposed|rumou?red|expected|agreed"
    r"|understood|recommended|suggested|accepted|considered|feared|hoped|stated|written)"
)

ENGLISH = Language(
    code="en",
    function_words=words(_SMALL, _PRONOUNS, _WH, _PREPOSITIONS, _AUX),
    verbs=words(_VERBS),
    modifiers=words(_MODIFIERS, _EMPTY),
    empty_adjectives=words(_EMPTY),
    second_person=words("you your yours yourself"),
    clause_words=words("and or but if because when while that which who where although though since so unless"),
    coordinators=words("and or"),
    relatives=words("that which who whom"),
    articles=words(_ARTICLES),
    indefinite=words("a an"),
    links=words("of"),
    prepositions=words(_PREPOSITIONS),
    auxiliaries=words(_AUX),
    copulas=words("is are was were been be"),
    manner_words=words("how why when where"),
    relational=words(_RELATIONAL),
    time_nouns=words(
        "year month week weekend day time morning evening afternoon night moment century decade summer winter"
    ),
    general_nouns=words(
        """region country city town area place state company organization institution band group team film movie
        book novel album song show game series disease condition illness disorder infection drug medication
        medicine vaccine system theory method process technique event war battle movement party experiment study
        test project animal plant person man woman artist writer dish building museum festival tool device
        software program language bill act treaty contract procedure operation exercise expedition character"""
    ),
    sort_nouns=words("type types kind kinds sort sorts variety varieties species breed breeds brand brands version"),
    sorting_words=words("what which"),
    ordinals={
        **numbered(
            "first 1st former,second 2nd,third 3rd,fourth 4th,fifth 5th,sixth 6th,seventh 7th,eighth 8th,ninth 9th,"
            "tenth 10th"
        ),
        "last": -1,
        "final": -1,
        "latter": -1,
        "penultimate": -2,
    },
    cardinals=numbered("one,two,three,four,five,six,seven,eight,nine,ten"),
    neighbours={"next": 1, "following": 1, "previous": -1},
    list_nouns=words(
        """point points item items step steps option options bullet bullets entry entries row rows number
        numbers element elements suggestion suggestions reason reasons tip tips method methods approach
        approaches alternative alternatives choice choices idea ideas solution solutions proposal proposals
        section sections paragraph command commands cause causes example examples topic heading part exercise
        exercises"""
    ),
    list_owners=words("list lists answer answers response reply your above them these those previous table"),
    ones=words("one ones"),
    ordinal_stoppers=words("to who that in on ever of at by most least"),
    both=words("both"),
    every=words("all"),
    none=words("none neither"),
    none_alone=words("neither"),
    not_alone=frozenset(),
    label_articles=frozenset(),
    label_article_needed=False,
    requests=words(
        """elaborate expand explain detail details describe clarify develop discuss unpack repeat summarise summarize
        show tell me give say more on about into go deeper further the info information please only just and ok
        okay yes so then let s take i want would like d need to know hear see can could you first what how
        regarding for start with take walk run through break down skip drop an a example examples of in plain simple
        simpler other words briefly again"""
    ),
    rests=words("rest others other remaining"),
    partitives=frozenset(),
    number_words=words("number numbers no nr n"),
    measures=r"(?!)",
    group_pronouns=words("them these those"),
    set_articles=words("the"),
    infinitive=r"(?!)",
    first_person=r"(?!)",
    action_askers=frozenset(),
    feminine=frozenset(),
    masculine=frozenset(),
    of_two=words("former latter"),
    personal=words("it they them he she him itself themselves"),
    plural_pronouns=words("they them their theirs these those themselves ones"),
    person_pronouns=words("he she him his her hers"),
    possessive=words("its their his her theirs hers"),
    demonstrative=words("this that these those"),
    place=words("there"),
    clitics=frozenset(),
    clitic_hosts=frozenset(),
    enclitic=r"(?!)",
    subject_pronouns=words("i you we they it he she one"),
    replaceable=words("it they them he she him"),
    owned=words("its their his her"),
    person_words=words("who whose whom"),
    comparatives=frozenset(),
    announced={},
    own_subject=r"(?!)",
    pleonastic=(
        r"\bwhy is (?:that|this) ?\?|\b(?:who|what|when|where|why|how) (?:is|was) it (?:that|who)\b"
        r"|\bit (?:is|was|s|has been|had been)(?: not| \w+ly| often| once| still| now| also| sometimes){0,2} "
        + _REPORTED
        + r"(?: \w+){0,2} that\b"
        r"|\b(?:is|was) it(?: not| \w+ly| often| still| now)? "
        + _REPORTED
        + r" (?:that|who|what|how|why|when|where|which|if|whether)\b|"
        r"\b(?:is|was|isn t|be|it s|it is|it was|makes?|would|find) (?:it )?(?:be )?(?:really |also |ever "
        r"|always )?"
        r"(?:safe|possible|impossible|true|false|better|best|necessary|legal|illegal|normal|easy|hard"
        r"|difficult|dangerous"
        r"|good|bad|ok|okay|fine|important|healthy|unhealthy|worth|common|rude|advisable|recommended|wise"
        r"|allowed"
        r"|mandatory|compulsory|required|enough|late|early|likely|unlikely|useful|useless|acceptable|ethical"
        r"|helpful"
        r"|correct|right|wrong|a good idea|a bad idea|sense|cheaper|faster)(?: for (?:\w+ ){1,3}"
        r"| of \w+ ?)? ?(?:to|that|if)\b"
        r"|\bit (?:takes|took|seems|turns out|depends|rains?|snows?)\b|\bdoes it mean\b"
        r"|\bdoes it (?:usually |normally |really )?(?:take|cost|matter|make sense|hurt)\b.*\b(?:to|if)\b"
        r"|\bwhat time is it\b|\bis it like to\b|\bit is (?:raining|late)\b"
        r"|\bis it (?:raining|snowing|cold|hot|warm|sunny|late|dark) (?:in|at|outside|now|today)\b"
    ),
    fillers=words(
        """please ok okay thanks thank interesting nice wow sorry ah oh hmm see got it to d you yes yeah yep
        sure great good cool well so now and can could would will may i me us then right alright i'd like just
        let s go with do want need wish love mind pick choose take the a for"""
    ),
    polite_endings=words("sorry please thanks thank you now ok"),
    going_on=(
        r"(?:(?:go|carry|move|keep|read) (?:on|ahead|going|further)|continue|proceed|resume|go deeper"
        r"|dig deeper|deeper"
        r"|finish(?: it)?|complete it|the rest|(?:and|so)? ?(?:then|next|after that)(?: what)?|and|so|and so"
        r"|what (?:next|then)"
        r"|what(?: is| s| comes| happens| happened) (?:next|then|after that)"
        r"|(?:tell me|say|show me|give me|know|hear|learn|see|write|find out|have|got|want|anything|something"
        r"|nothing)?(?: (?:a bit"
        r"|a little|some|any|much))? ?more"
        r"(?: (?:details?|information|info|examples?|context|of (?:it|this|that)))?"
        r"|(?:tell me|give me|know) (?:everything|(?:some |the )?details)"
        r"|(?:(?:give|show) (?:me )?|make |have |see )?(?:an?|another|one more|some|any|any other|a few|other)"
        r"(?: (?:more|other|concrete|practical|real|simple|specific|quick))? examples?"
        r"|(?:for|like for)? ?(?:example|instance)|such as|like what|(?:and )?(?:what|anything|something"
        r"|nothing) else(?: is there)?"
        r"|is there (?:anything|something|more)(?: (?:else|more))?|is that (?:all|it)"
        r"|(?:elaborat|continu|clarify|rephras|repeat|expand|explain|simplify)(?:e|ing)?|describe|reword"
        r"|develop|unpack|say"
        r"|break (?:it|this|that) down"
        r"|(?:be )?(?:more|a bit more|a little more) (?:specific|precise|detailed|clear|concrete)|be specific"
        r"|(?:go )?in(?:to)? (?:more|greater|further) (?:detail|depth)"
        r"|(?:still )?(?:don t|didn t|do not|did not|can t) (?:quite |really |fully )?(?:understand|get|follow)"
        r"|(?:am |m )(?:still )?(?:lost|confused)|(?:it s |that s |that is |it is )?(?:still )?not (?:very "
        r"|so )?clear"
        r"|how so|meaning|what do you mean|in what (?:sense|way))"
    ),
    going_on_tails=(
        r"(?:the last (?:thing|bit|sentence|part)"
        r"|it|this|that|yourself|again|better|further|more|more clearly|more simply|in (?:more |greater "
        r"|further |some )?"
        r"(?:detail|depth)|in (?:simple|simpler|plain|other|easier) (?:words|terms|english)|simply|clearly"
        r"|differently"
        r"|a bit|a little|(?:a bit |a little |some )more|(?:on|about|by|with) (?:it|this|that|them)|(?:to"
        r"|for) me|from (?:here|there)"
        r"|(?:from )?where you (?:stopped|left off)|with (?:an example|examples)|step by step|to (?:add|say"
        r"|know)"
        r"|the (?:story|list|explanation|answer)|i should know|worth knowing|like i m (?:five|5|a child"
        r"|a beginner)|down|what you mean|please|now"
        r"|then)"
    ),
    openers=(
        r"^(?:ok |okay |so |yes |well )?(?:and|but|or)? ?(?:(?:what|how) about|what of|and|but|or maybe"
        r"|or) (?!if )(?P<rest>.+)$"
        r"|^(?:and |but )?what if (?P<condition>.+)$|^(?:and|but) if (?P<supposed>[^,;]+)$"
    ),
    bare_question=(
        r"^(?:and |but )?(?:why|how|when|where|who|which|which ones?|whose|what(?: kinds?| types?)?"
        r"|why (?:not|is that|so)|how come|since when|until when|at what (?:age|time|price)|to what extent"
        r"|how (?:much|many|long|often|far|old|big|soon|fast|deep|tall|late|early|common|rare|likely"
        r"|expensive|bad"
        r"|serious|safe|hard|difficult|accurate|reliable|effective)(?: more| times| days| hours| people)?"
        r"|by (?:whom|when|how much)|with (?:whom|what)|for (?:whom|how long|what)|any \w+ ?\w*"
        r"|in what (?:way|sense))$"
    ),
    zero_subject=r"(?!)",
    statement=(
        r"\b(?:didn t|haven t|hadn t|did|weren t|are) you (?:just |already |earlier |not )?"
        r"(?:say|tell me|claim|state|write|mention that|explain that|suggest that|saying|said|told me)"
        r"(?! about\b)(?: that| to)?\b"
        r"|\byou (?:just |also |already |earlier |previously |had |have |ve |d ){0,3}(?:said|told me|told us"
        r"|claimed|stated"
        r"|wrote|argued|asserted|were saying|re saying|are saying|affirmed|say(?= that))(?: earlier| before"
        r"| previously| that| to)*"
        r"(?! (?:about|something|anything)\b)(?= \w)"
        r"|\byou (?:just |also |already |earlier |previously ){0,2}(?:mentioned|explained|suggested"
        r"|recommended|noted)"
        r"(?: earlier| before)? that\b"
        r"|\baccording to (?:you|what you (?:said|wrote)),?"
    ),
    back=(
        r"\bwhat you (?:just |have |ve |had )?(?:said|told me|wrote|explained|mentioned|described)"
        r"(?: (?:earlier|before|above))?(?: (?:about|on|regarding))?\b"
        r"|\b(?:as|like|than|the same as|same as) (?:you )?(?:said |mentioned |explained |described )?"
        r"(?:before|earlier|above|previously)\b"
        r"|\bas you (?:said|mentioned|explained|described|wrote|told me|suggested)\b"
        r"|\bdid you (?:say|mention|tell me|write|explain)(?: earlier| before)? about\b"
        r"|\byou (?:just |also |already |earlier |previously |had |have |ve ){0,2}(?:mentioned|recommended"
        r"|suggested|listed|talked about|spoke about"
        r"|described|told me about|said something about|referred to|named|cited|proposed|gave me|explained"
        r"|said about)\b"
        r"|\b(?:going|go|coming|come|get|getting|getting|turning|jump|return|returning) back to\b"
        r"|\breturn(?:ing)? to\b"
        r"|\b^(?:ok |so )?back to\b"  # every way begins with a word, so that one look passes over other places
        r"|\bwe (?:just |were |have |ve |had |previously |already ){0,2}(?:talked|talking|discussed|spoke"
        r"|spoken|discussing|covered)"
        r"(?: about)?\b|\bmentioned (?:above|earlier|before)\b|\babove mentioned\b"
        r"|\bearlier (?:in (?:this|our) (?:conversation|chat)|you)\b"
    ),
    recalled=(
        r"\byou were (?:just )?(?:saying|talking|telling me|mentioning)(?: something)?(?: about)?\b"
        r"|\bwhat (?:did|do) you mean (?:by|with)\b"
    ),
    the_one=(
        r"\bthe ones? (?:about|with|on|for|from|in|by|using|where) (\w+(?: \w+){0,3})"
        r"|\bthe (\w+(?: \w+){0,2}) (?:one|option|idea|method|approach|row|tip|suggestion|step|point)\b"
    ),
    last_answer=(
        r"\b(?:your|the|that|this) (?:previous|last|earlier|above|first) (?:answer|response|reply|message"
        r"|explanation)\b"
        r"|\b(?:list|table|answer|points|steps|text|summary|code) (?:above|you (?:just )?(?:gave|wrote"
        r"|made)(?: me)?)\b"
        r"|\b(?:your|the above|that|this) (?:answer|response|reply|explanation)\b"
        r"|\bwhat you (?:just )?(?:said|wrote)$"
        r"|\b(?:as|like) before\b|\bthe above\b"
    ),
    comparison=(
        r"\bcompar(?:e|es|ed|ing|ison)\b|\bdifferences?\b|\bdiffers?\b|\bversus\b|\bvs\b|\bwith respect to\b"
        r"|\brelative to\b|\b(?:more|less|better|worse|\w{3,}er) than\b|\brather than\b|\bsame as\b"
    ),
    bare_comparison=(
        r"^(?:and |so |but |ok )?which(?: (?:one|ones|of (?:them|these|those|the (?:two|three|four|five))))?"
        r"(?: (?:would|do|should|does) (?:you|i|we|it)(?: \w+)?| is| are| was| were| has| works?| costs?"
        r"| lasts?| takes?"
        r"| do you \w+| should i \w+){1,2}(?: (?:the|a))?"
        r"(?: (?:more|most|less|least|better|best|cheaper|cheapest|worse|worst|good|\w{2,}er|\w{2,}est|safe"
        r"|healthy"
        r"|effective|expensive|popular|common|important|difficult|efficient|reliable|dangerous|convenient"
        r"|suitable"
        r"|powerful|overall))+(?: (?:of|among|between) (?:them|these|those|all|the (?:two|three|four"
        r"|five)))?(?: \?)?$"
        r"|^(?:and |so )?what (?:is|are|s)(?: the)? (?:main |key |real )?differences?"
        r"(?: between (?:them|the two|the three|these|those|these two|those two|the two of them))?(?: \?)?$"
        r"|^(?:and |so |but )?which ones?(?! of\b)(?: \w+){1,4}$"
        r"|\bwhich (?:one )?of (?:them|these|those|the (?:two|three|four|five))\b"
        r"|^(?:can you |please )?compare (?:them|these|those|the two|the three|all of them)\b"
        r"|^(?:and |so )?what (?:is|are|s|was|were) the (?:\w+est|best|worst|most \w+|least \w+)"
        r"(?: (?:one|ones|of (?:them|these|those|all)|ever(?: \w+)?))?(?: \?)?$"
    ),
    headless=(
        r"^(?:and |so |but )?(?:what|which|who)(?: one)? (?:is|are|was|were|s) "
        r"the (?:(?:second |third |next )?(?:\w{3,}est|best|worst)|most \w{4,}|least \w{4,})"
        r"(?: (?:ever|in|for|on|at|so far|selling|known|one|ones|among|today|now)\b| ?\?| ?$)"
        r"|\b(?:different|similar|alike)$"
    ),
    presupposing=(
        r"^(?:and |so |but )?(?:what|which|who) others?\b(?! than)|\bany other\b(?! than)"
        r"|\b(?:what|who|where|how|when|anything|anyone|anybody|something|someone) else\b"
        r"|^(?:are|were|is|was) there (?:any|other)(?: \w+){1,3}$"
    ),
    plural_of=r"^(?:and |so )?what (?:are|were) (?:some of )?the (?P<other>(?:\w+ ){1,2})(?P<head>\w+s)(?: \?)?$",
    introduction=(
        r"^(?:\w+ ){0,2}(?:(?:tell|teach) me (?:more )?about|describe|explain|define|let s talk about"
        r"|i want to (?:know|learn)"
        r" about|(?:what|who) (?:is|are|was|were|s|do you know about)|give me (?:information|info) (?:on|about)"
        r"|what (?:do|does) .+ mean)\b"
    ),
    choice_words=words("or vs versus"),
    between_words=words("between"),
    clarifying=Clarifying(which="Which one: {options}?", joiner="or"),
    sequence={
        **dict.fromkeys(("first of all", "firstly", "first", "to begin with"), 1),
        **dict.fromkeys(("secondly", "second"), 2),
        **dict.fromkeys(("thirdly", "third"), 3),
        **dict.fromkeys(("fourthly", "fourth"), 4),
        **dict.fromkeys(("finally", "lastly"), 0),
    },
    gerund="ing",
    graded="er",
    do_support=words("do does did can could will would should must may might don doesn didn"),
)
