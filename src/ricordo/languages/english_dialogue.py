"""English: the sentences that the reader says itself, and how messages greet, state, order and ask."""

from ricordo.languages.base import DialogueWords, ReaderPhrases
from ricordo.languages.patterns import words

READER = ReaderPhrases(
    opening="From the material, in its own words (extractive answer):",
    absent=(
        "The material holds no answer to this, and neither does what we have said so far. "
        "Tell me, or add a document, and I can answer from it."
    ),
    no_more="The material says no more about this.",
    greeting="Hello! What can I do for you?",
    thanks="You're welcome.",
    okay="All right.",
    farewell="Goodbye, until next time.",
    nothing_yet=(
        "I answer from your documents and from what you tell me. Add a document or tell me something about yourself."
    ),
    noted="Noted: {quote}. Tell me if something of it is wrong.",
    remembered="I will remember: {quote}. To undo it, tell me to forget it.",
    standing="From now on: {quote}. To undo it, tell me to forget it.",
    forgotten="Forgotten: I no longer use what you told me about it.",
    nothing_to_forget="I find nothing about that, so there is nothing to forget.",
    you_said="You said ({day}): “{quote}”",
    i_said="I said ({day}): “{quote}”",
    confirmed="Yes, I said so ({day}): “{quote}”",
    nearest="I do not find that in what was said. The nearest is this ({day}): “{quote}”",
    never_said="I do not find that in what was said.",
    both="The material and what was said both speak of it:",
    which="Which one do you mean: {names}?",
    until="Until {day}: {quote}",
    talk="What we talked about ({day}):",
    talk_user="- You: “{quote}”",
    talk_assistant="- I: “{quote}”",
    no_talk="I find no conversation of that time or about that.",
    known="What I know about you, in your own words:",
    fallback="The model did not answer; this answer is quoted by the built-in reader.",
)

DIALOGUE = DialogueWords(
    greetings=(
        r"hi+|hello+|hey+|hiya|howdy|yo|(?:good )?(?:morning|evening|afternoon)|good day|greetings|wass?up"
        r"|what's up|sup"
        r"|it's me(?: again)?|nice to meet you|are you there|you there"
        r"|how(?:'s| is| are|'re) (?:you|it going|things|your day)(?: (?:doing|going|today))*"
    ),
    thanks=(
        r"thanks?(?: (?:a lot|a million|so much|again))?|thank you|thx|ty|cheers|much appreciated|you're (?:a"
        r"|the) \w+"
    ),
    farewells=r"bye+|bye bye|goodbye|good ?night|night|see (?:you|ya)|take care|talk (?:to you )?(?:soon|later)|later",
    okays=(
        r"ok(?:ay|ie)?|k|great|perfect|cool|got it|sorry|all ?right|right|fine|sure|nice|lovely|brilliant"
        r"|yes|yeah|yep|no"
        r"|nope|lol|haha+|wow|phew|ugh"
    ),
    question_openings=(
        r"(?:(?:and|so|but|ok|hey|hi|hello|um+|er|please|sorry|right|also)\b[ ,]*)*"
        r"(?:(?:in|at|on|to|for|from|with|by|of|about|until|since) )?"
        r"(?:what|whats|what's|which|who|whos|who's|whom|whose|where|wheres|where's|when|whens|when's|why"
        r"|how|hows|how's"
        r"|(?:do|does|did|can|could|should|shall|would|will|is|are|am|was|were|has|have|had)(?:n't)? "
        r"(?:i|you|u|we|he|she|it|they|the|my|our|your|there|this|that|any)\b)"
    ),
    wh_words=r"what|whats|which|who|whos|whom|whose|where|wheres|when|whens|why|how",
    tell_me=(
        r"(?:(?:please|can you|could you|would you)[ ,]*)*(?:tell me|remind me (?:what|who|when|where|which|how|of)"
        r"|give me|list|explain|describe|name|define|compare|show me|summari[sz]e|sum up|recap|continue|go on|elaborate"
        r"|expand|talk about|i (?:want|would like|'d like) to (?:know|understand)|do you (?:know|remember))"
    ),
    remember=(
        r"(?:please |can you |could you |hey |ok )*(?:remember|don't forget|do not forget|keep in mind|bear in mind"
        r"|make a note|take note|note down|note|write down|save)(?: please)?(?: (?:that|this|of))?[:,]? "
    ),
    forget=(
        r"(?:please |can you |could you |ok )*(?:forget|delete|erase|stop remembering|don't remember|scratch"
        r"|remove from (?:your )?memory)(?: (?:that|about|the (?:bit|thing|part|fact) (?:about|that)))? "
    ),
    standing=(
        r"(?:please |can you |could you |ok )*(?:from (?:now|here|today) on(?:wards?)?|in future|going forward|call me"
        r"|always (?:answer|call|write|speak|use|remind)|(?:please )?(?:answer|write|reply) (?:briefly"
        r"|in short|shortly))\b"
    ),
    first_person=r"i|i'm|im|i've|ive|i'd|i'll|my|mine|me|we|we're|we've|our|us",
    assistant_said=(
        r"(?:(?:you|u|ya) (?:(?:also|once|already|did|had|have|just|even|'d|'ve) )*(?:told|said|say|tell"
        r"|recommended|advised|suggested"
        r"|mentioned|warned|promised|claimed|proposed|explained|recommend|suggest|advise|mention)"
        r"|(?:didn't|did|had|hadn't|haven't|have) (?:you|u) (?:(?:also|not|already|once|just) )*(?:say"
        r"|said|tell|told|recommend\w*|advise\w*|suggest\w*"
        r"|mention\w*|warn\w*|promise\w*))"
    ),
    user_said=(
        r"(?:(?:didn't|did|haven't|have) i (?:(?:not|already|ever) )*(?:say|said|tell|told|mention\w*|ask\w*)"
        r"|i (?:already |once )?(?:told you|asked you|said to you|mentioned))"
    ),
    claim_tags=(
        r"didn't you|did you not|right|correct|yes|yeah|no|remember|abi|innit|haven't you|as i recall"
        r"|if i'm not mistaken"
        r"|isn't it|is that right|is that so|true|me|that|to|you|u|about|also|and"
    ),
    talk=(
        r"what (?:did|have|were|was|had) we (?:(?:just|last|been) )?(?:talk\w*|spe?a?o?k\w*|discuss\w*|do"
        r"|done|say|said|cover\w*|chat\w*|go over"
        r"|gone over|on about|work\w*|look\w*|stud\w*|do(?:ne|ing)?)"
        r"|summar(?:y|ies|i[sz]e)|sum up|recap|wrap up|what happened .*\b(?:chat|conversation|session)"
        r"|(?:what|which) (?:was|were) .*\b(?:our|the) .*\b(?:conversation|chat|talk|session|discussion)s?\b"
        r"|what did i (?:ask|want to know|say|tell you) (?:you )?(?:\w+ )?(?:about|last|yesterday|today|on|in)\b"
        r"|our (?:last|latest|most recent|previous|past) (?:conversation|chat|talk|session|discussion)"
        r"|where (?:did we (?:leave|stop|get)|were we)|catch me up|(?:what|which) (?:topics|subjects)\b.*\bwe\b"
    ),
    last_session=(
        r"last (?:time|session|conversation|chat|talk|meeting)|most recent|latest|previous (?:time|session"
        r"|chat|conversation)"
    ),
    about_me=(
        r"what (?:do|did|can) you (?:\w+ )?(?:know|remember|recall|learn\w*|have|tell me) (?:\w+ )?(?:about|on|of) me"
        r"|what have you (?:learned|learnt|stored|saved) about me|who am i\W*$|(?:tell me|everything) .*about me"
        r"|what do you know of me"
    ),
    wanted={
        "person": r"who|whom|whose|who's|whos|which (?:person|friend|colleague|doctor|teacher|brother|sister)",
        "name": r"(?:name|called|surname|nickname|named|addressed)",
        "number": (
            r"how (?:many|much|long|old|far|often|high|hot|cold|big|large|deep|fast|tall|wide|heavy)"
            r"|(?:what|which)(?:'s| is| was)? .*\b(?:temperature|percentage|speed|age|distance|amount"
            r"|number|dose|price|cost|size|page"
            r"|salary|pay|rent|fee|budget|weight|height|score|grade|phone|code|unit)"
        ),
        "time": (
            r"when|what (?:time|day|date|year|month)|which (?:day|date|year|month)|how long ago|until when"
            r"|since when"
        ),
        "place": (
            r"where|which (?:city|town|country|place|street|village)|what (?:city|town|country|place|street"
            r"|address)"
        ),
        "reason": r"why|how come|what for",
    },
    held={
        "number": (
            r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
            r"|sixteen|seventeen"
            r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
            r"|half|third|quarter"
            r"|fifth|twice|once|dozen|couple|double|daily|weekly|every|always|never|both|none|a year"
            r"|a month|a week|a day"
        ),
        "time": (
            r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may"
            r"|june|july|august"
            r"|september|october|november|december|today|tomorrow|yesterday|tonight|morning|afternoon"
            r"|evening|noon|midnight"
            r"|night|spring|summer|autumn|winter|christmas|easter|week\w*|month\w*|year\w*|days?|hours?"
            r"|minutes?|o'clock"
            r"|half past|quarter|after|before|until|when|once|weekend\w*|birthday|dawn|dusk|lunch|dinner"
            r"|breakfast|first|second"
        ),
        "reason": r"because|since|so|due|reason|cause|for|as|to|otherwise|after|broke|broken|'?cause|cuz|otherwise",
    },
    past_words=words(
        """remember recall remind told tell say said says mention mentioned talk talked suggest suggested recommend
        recommended advise advised advice supposed ago again know currently now present moment days today still ever
        should would could must might need have has had got get going go went come did does done do think thought
        idea opinion put use give gave keep said meant asked ask called call name named please just also
        exactly actually         thing things kind sort type way lot one ones"""
    ),
    synonyms=(
        words("mum mom mother mam mummy"),
        words("dad father papa daddy"),
        words("job work living profession occupation"),
        words("dog puppy greyhound hound"),
        words("doctor gp physician"),
        words("kid kids child children son daughter"),
        words("exam test mock quiz exams"),
        words("car auto vehicle"),
        words("boss manager supervisor"),
        words("cost costs price pay paying charge charges quid pounds euros dollars fee rent"),
        words("flat home house apartment"),
        words("illness disease condition diagnosis sick"),
        words("wife husband spouse partner"),
        words("pill pills medicine drug tablet medication tablets"),
        words("teacher tutor professor"),
        words("shop business store place"),
    ),
    changed=(
        r"now|instead|actually|in the end|changed|moved|no longer|anymore|not any more|switched|new|up to"
        r"|went up|put up|update|correction|rather"
    ),
)
