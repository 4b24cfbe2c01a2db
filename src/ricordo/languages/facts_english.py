# ruff: noqa: E501 - one pattern a line: a table is read down its columns
"""How people tell something of themselves in English: one table, no code.

Sentences leave the subject out ("Likes pizza"), so that they fit everybody.
"""

import re

from ricordo.languages.facts_base import Pattern, Tongue
from ricordo.people.facts.dates import PHRASE

_I = r"i(?: really| absolutely| also| still| just| always| currently| personally| actually| definitely| honestly| truly| kind of)*"
_IM = r"(?:i'm|i am|im)(?: really| also| still| currently| actually| just| so)*"
_EXAM = r"(?:exam|test|quiz|midterm|final|finals|interview|presentation|competition|recital|race|driving test|audition|match)"
_JOB = (
    r"(?:doctor|nurse|teacher|professor|engineer|lawyer|architect|cook|chef|waiter|waitress|programmer|(?:software |web )?developer|"
    r"plumber|electrician|carpenter|accountant|driver|barista|pharmacist|physiotherapist|psychologist|dentist|vet|veterinarian|"
    r"journalist|writer|photographer|musician|actor|actress|painter|designer|researcher|scientist|farmer|mechanic|hairdresser|"
    r"police officer|firefighter|librarian|translator|pilot|cashier|consultant|paramedic|electrical engineer|civil engineer|"
    r"software engineer|data scientist|social worker|retired \w+|freelancer|freelance \w+|postman|soldier|therapist)"
)
_KIN = (
    r"(?:sister|brother|(?:little|big|older|younger|twin) (?:sister|brother)|son|daughter|cousin|uncle|aunt|grandmother|grandfather|grandma|"
    r"grandpa|best friend|friend|dog|cat|puppy|kitten|rabbit|hamster|horse|parrot|turtle|fish|nephew|niece|roommate)"
)
_ONLY = r"(?:mother|father|mom|mum|dad|husband|wife|boyfriend|girlfriend|partner|fiancée?)"
_LANGUAGE = (
    r"(?:english|italian|french|spanish|german|portuguese|russian|chinese|mandarin|arabic|japanese|romanian|albanian|ukrainian|"
    r"polish|greek|turkish|hindi|korean|dutch|swedish|hungarian|bengali|urdu|punjabi|farsi|hebrew|vietnamese|tagalog)"
)
_REACH = (
    r"(?:pass|become|learn(?! (?:about|more))|get (?:into|an a|a b|a better|better|good|at least|a good|top)|improve|graduate|win|"
    r"study (?:medicine|law|engineering|architecture|economics|computer science|psychology|physics|biology|chemistry|at|in|abroad)|"
    r"move to|run (?:a|the|my)|lose weight|master|speak|travel|finish (?:school|high school|college|university|my (?:degree|studies|thesis|course|phd|masters?|diploma))|apply (?:to|for)|enrol?l? in|"
    r"quit smoking|stop (?:smoking|procrastinating)|prepare for|start (?:a|my own)|build (?:a|my own)|be(?:come)? (?:a|an) \w+|raise my|work (?:as|in|at|for)|visit|ace|"
    r"go to (?:college|university|medical school|law school|med school)|play (?:the|in)|earn (?:a|my)|retake)"
)

PATTERNS = (
    Pattern("name", r"(?:my (?:first |full )?name(?: is|'s)|i'm called|i am called|name's) (?P<x>[^\d]+)", "Is called {x}", "name", x="person", confidence=0.98),
    Pattern("name", r"(?:i'm|i am|this is) (?P<x>[^\d]+)", "Is called {x}", "name", x="proper", confidence=0.85, greeted=True),
    # Places
    Pattern("place", r"i (?:no longer live in|don't live in|do not live in) (?P<x>.+?)(?: any ?more)?", "No longer lives in {x}", "place:home", x="place"),
    Pattern("place", rf"{_I} live (?P<y>in|near|close to|just outside|outside) (?P<x>.+)", "Lives {y} {x}", "place:home", x="place", y="folded"),
    Pattern("place", rf"{_IM} (?:living|based) (?P<y>in|near) (?P<x>.+)", "Lives {y} {x}", "place:home", x="place", y="folded"),
    Pattern("place", r"i(?:'ve| have)? (?:just |recently )?moved to (?P<x>.+?)(?: (?:last|in|this|a|two|three|recently|\d).*)?", "Lives in {x}", "place:home", x="proper place"),
    Pattern("place", rf"(?:{_IM}|i come|i'm originally|i am originally) from (?P<x>.+)", "Comes from {x}", "place:origin", x="proper place"),
    Pattern("place", r"i was born (?:and raised )?in (?P<x>.+)", "Was born in {x}", "place:birth", x="proper place"),
    Pattern("place", rf"(?:{_I} study|{_IM} studying|{_I} go to school) at (?P<x>.+)", "Studies at {x}", "place:school", x="thing"),
    Pattern("place", rf"{_I} (?:attend|go to) (?P<x>[\w'. -]*(?:school|university|college|academy|institute))", "Studies at {x}", "place:school", x="proper thing"),
    # Days
    Pattern("date", rf"my birthday(?: is|'s)(?: on)? (?P<x>{PHRASE})", "Birthday: {x}", "date:birthday", x="yearly"),
    Pattern("date", rf"i was born (?P<x>{PHRASE})", "Birthday: {x}", "date:birthday", x="yearly"),
    Pattern("date", rf"(?:i have|i've got|i've|i got|i'm taking|i am taking|i'm having|i have to take) (?P<y>(?:an? |my |the )?(?:[\w-]+ ){{0,3}}{_EXAM}) (?P<x>{PHRASE})", "Has {y} on {x}", "date:{y}", x="day", y="thing"),
    Pattern("date", rf"(?P<y>(?:my |the )(?:[\w-]+ ){{0,3}}{_EXAM})(?: is| will be| takes place| has been moved to| was moved to| got moved to| is scheduled for|'s) ?(?P<x>{PHRASE})", "Has {y} on {x}", "date:{y}", x="day", y="thing"),
    # Goals
    Pattern("goal", rf"i no longer (?:want|plan|intend) to (?P<x>{_REACH}\b.*)", "No longer wants to {x}", "goal:{x}", x="wish"),
    Pattern("goal", rf"i (?:don't|do not) (?:want|plan|intend) to (?P<x>{_REACH}\b.*?) any ?more", "No longer wants to {x}", "goal:{x}", x="wish"),
    Pattern("goal", rf"(?:{_I} (?:want|hope|plan|aim|wish|intend|need|dream)|{_IM} (?:hoping|planning|trying|aiming|going|determined)|i'd (?:love|like)|i would like|my (?:\w+ )?(?:goal|dream|aim|plan|objective) is|i've decided|i dream of one day|when i grow up i want) to (?:one day |finally |eventually |really )?(?P<x>{_REACH}\b.*)", "Wants to {x}", "goal:{x}", x="wish"),
    # Difficulties
    Pattern("difficulty", rf"(?:{_I} no longer (?:struggle|have (?:trouble|problems|difficulty)) with|i don't (?:struggle|have trouble) with) (?P<x>.+?)(?: any ?more)", "No longer has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"{_I} no longer (?:struggle|have (?:trouble|problems|difficulty)) with (?P<x>.+)", "No longer has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", r"(?:now i (?:finally )?|i now |i finally |finally i )(?:understand|understood|get|got) (?P<x>.+?)(?: now)?", "No longer has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"(?:{_I} (?:don't|do not|can't|cannot|never) (?:really |quite |fully |ever )?(?:understand|understood|get my head around|grasp|wrap my head around)|i've never understood|i never understood) (?P<x>.+)", "Has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"(?:{_I} (?:struggle|have (?:\w+ )?(?:trouble|difficulty|difficulties|problems|a hard time))|{_IM} (?:struggling|having (?:\w+ )?(?:trouble|difficulty|problems|a hard time))|i've been struggling|i get confused (?:by|about)|{_IM} confused (?:by|about)) (?:a lot )?(?:with )?(?P<x>.+)", "Has difficulty with {x}", "difficulty:{x}", x="trouble"),
    Pattern("difficulty", rf"{_IM} (?:very |so |pretty |really )*(?:bad|terrible|awful|weak|horrible|hopeless|poor|not (?:very |so )?good) (?:at|in) (?P<x>.+)", "Has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"{_I} find (?P<x>.+?) (?:very |really |so |quite |pretty |extremely )*(?:hard|difficult|confusing|tricky|challenging|tough)(?: to (?:understand|follow|remember|learn|grasp))?", "Has difficulty with {x}", "difficulty:{x}", x="subject"),
    Pattern("difficulty", rf"{_I} (?:have|suffer from) (?P<x>dyslexia|dyscalculia|dysgraphia|adhd|add|dyspraxia)", "Has {x}", "condition:{x}", x="condition"),
    Pattern("difficulty", rf"{_IM} (?P<x>dyslexic|dyscalculic)", "Has {x}", "condition:{x}", x="condition"),
    # Preferences
    Pattern("preference", rf"(?:{_I} (?:don't|do not) (?:really |particularly )?(?:like|love|enjoy|care for)|{_I} (?:hate|dislike|can't stand|cannot stand|detest|can't bear)|{_IM} not (?:a (?:big |huge )?fan of|into|keen on|fond of)) (?P<x>.+)", "Dislikes {x}", "preference:{x}", x="taste"),
    Pattern("preference", rf"(?:{_I} (?:like|love|enjoy|adore)|{_IM} (?:a (?:big |huge )?fan of|into|keen on|fond of|crazy about|passionate about)) (?P<x>.+)", "Likes {x}", "preference:{x}", x="taste"),
    Pattern("preference", rf"{_I} prefer (?P<x>.+)", "Prefers {x}", "preference:{x}", x="taste"),
    Pattern("preference", rf"{_I} (?:learn|understand things|remember things|study) (?:best|better|more easily) (?P<x>(?:with|by|from|through|using|via|when i|reading|watching|listening)\b.+)", "Learns best {x}", "learning:{x}", x="manner"),
    Pattern("preference", r"my (?:absolute |all-time )?favou?rite (?P<y>[a-z]+(?: [a-z]+)?)(?: is| are|'s) (?P<x>.+)", "Favourite {y}: {x}", "favourite:{y}"),
    # People and animals
    Pattern("relation", rf"(?P<y>my {_ONLY})(?: is called|'s name is|'s called| is named) (?P<x>.+)", "{y} is called {x}", "relation:{y}", x="person"),
    Pattern("relation", rf"(?P<y>my {_KIN})(?: is called|'s name is|'s called| is named) (?P<x>.+)", "{y} is called {x}", "", x="person"),
    Pattern("relation", r"(?P<y>my (?:[a-z]+ )?(?:teacher|professor|tutor|coach|instructor))(?: is called|'s name is|'s called| is named| is) (?P<x>(?:(?:Mr|Mrs|Ms|Miss|Dr|Professor|Prof)\.? )?[^,]+)", "{y} is called {x}", "relation:{y}", x="titled"),
    Pattern("relation", rf"(?:i have|i've got) (?P<y>an? (?:\w+ )?(?:{_KIN}|{_ONLY})) (?:called|named|whose name is) (?P<x>.+)", "Has {y} called {x}", "", x="person"),
    Pattern("relation", rf"(?:i have|i've got) (?P<x>(?:an?|one|two|three|four|five|\d) (?:(?:little|big|older|younger|twin|small|baby) )?(?:{_KIN}|sisters|brothers|sons|daughters|kids|children|dogs|cats|siblings)(?: and (?:an?|one|two|three|four|\d) (?:(?:little|big|older|younger|twin) )?(?:{_KIN}|sisters|brothers|sons|daughters|dogs|cats))?)", "Has {x}", "", x="counted"),
    Pattern("relation", rf"{_IM} (?P<x>an only child)", "Is {x}", "relation:siblings", x="counted"),
    # The rest
    Pattern("other", rf"{_IM} (?P<x>[1-9]\d?)(?: years old| years of age| yo| y/o|)", "Is {x} years old", "age", x="age", confidence=0.95),
    Pattern("other", rf"(?:{_IM} in|{_IM} a student in) (?:the )?(?P<x>(?:\d{{1,2}}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth) grade|year \d{{1,2}}|grade \d{{1,2}}|(?:middle|high|primary|elementary|secondary|med|medical|law|grad|graduate) school|sixth form|my (?:first|second|third|fourth|final|last|junior|senior|freshman|sophomore) year(?: (?:of|at) [\w ]+)?|college|university)", "School year: {x}", "class", x="year"),
    Pattern("other", rf"{_IM} (?P<x>an? (?:\w+[ -])?(?:freshman|sophomore|junior|senior|first|second|third|final|undergraduate|graduate|phd)[ -](?:year )?student|an? (?:high school|college|university|first-year|second-year|third-year|final-year|phd|medical|law|nursing|engineering|undergraduate|graduate) student|an? (?:freshman|sophomore)(?: in (?:college|high school))?)", "Is {x}", "class", x="counted"),
    Pattern("other", rf"{_I} work as (?P<x>an? .+)", "Works as {x}", "job", x="thing"),
    Pattern("other", rf"{_IM} (?P<x>an? (?:retired |former |junior |senior |freelance |part-time |high school |primary school |elementary school |math |maths |english |science )*{_JOB})(?: (?:in|at|from|by) .+)?", "Works as {x}", "job", x="thing"),
    Pattern("other", rf"(?:{_IM} studying|{_IM} majoring in|{_IM} a student of|my major is) (?P<x>medicine|law|[a-z]*\s?engineering|architecture|economics|computer science|psychology|physics|biology|chemistry|mathematics|history|literature|philosophy|nursing|business|art|music)(?: (?:at|in) .+)?", "Studies {x}", "study", x="folded"),
    Pattern("other", rf"{_I} speak (?:fluent |some |only |a little |both )*(?P<x>{_LANGUAGE}(?: and {_LANGUAGE})?)(?: (?:fluently|well|at home|natively|too|as well))?", "Speaks {x}", "", x="tongues"),
    Pattern("other", rf"(?:my (?:native|first|mother) (?:language|tongue) is|{_IM} a native speaker of) (?P<x>{_LANGUAGE})", "Native language: {x}", "language:native", x="tongues"),
    Pattern("other", rf"(?:{_IM} allergic to|i have an allergy to) (?P<x>.+)", "Is allergic to {x}", "health:{x}"),
    Pattern("other", rf"{_IM} (?P<x>(?:lactose|gluten|fructose)[ -]intolerant)", "Is {x}", "health:{x}", x="folded"),
    Pattern("other", r"(?:i'm|i am|im) (?:no longer(?! .* any ?more)|not(?= .* any ?more))(?: an?)? (?P<x>vegetarian|vegan|pescatarian)(?: any ?more)?", "Is no longer {x}", "health:{x}", x="folded"),
    Pattern("other", rf"(?:{_IM}|i've become|i became|i've gone)(?: an?)? (?P<x>vegetarian|vegan|coeliac|celiac|left-handed|colou?r ?blind|pescatarian)", "Is {x}", "health:{x}", x="folded"),
    Pattern("other", rf"{_I} play (?P<x>the (?!fool|role|part|game|victim|devil|hero|villain|field|odds)[a-z ]+?|soccer|football|basketball|tennis|chess|volleyball|hockey|rugby|baseball|cricket|golf|guitar|piano|violin|drums)(?: (?:in|for|since|on|every|at|with) .+)?", "Plays {x}", "", x="thing"),
)  # fmt: skip

TONGUE = Tongue(
    "en",
    lead=re.compile(
        r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|so|well|ok|okay|yes|yeah|yep|and|but|also|anyway|honestly|to be honest|tbh|"
        r"btw|by the way|unfortunately|actually|in general|generally|usually|personally|sadly|fyi|plus|there|everyone|all|nice to meet you|"
        r"the thing is|the problem is|for me|as for me|just so you know|sure|right|oh|ah|look|listen|thanks)\b[\s!]*)+",
        re.IGNORECASE,
    ),
    sign=re.compile(
        r"\b(?:i|i'm|im|i've|i'd|my|name's|this is|the (?:\w+ ){0,3}(?:exam|test|interview|final|finals))\b",
        re.IGNORECASE,
    ),
    patterns=PATTERNS,
)
