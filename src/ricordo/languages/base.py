"""What a language has to provide: one `Language` made of small tables, each read by one part of the library.

The tables are frozen dataclasses of words, phrases and regular expressions; `english.py` and `italian.py` fill them.
A string named as alternatives ("today|tonight") is a piece of a regular expression that is joined with those of the
other languages (`registry.AnyLanguage`). A pattern of one language alone is a `LazyPattern`, compiled at first use.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import LazyPattern, Locale, Words
from ricordo.languages.text import fold
from ricordo.records.derived import FactKind


@dataclass(frozen=True, eq=False, repr=False)
class MemoryWords:
    """The headings of the memory block, and the line that ends the safety rules (`{seal}` is filled in)."""

    code: str
    title: str
    last_session: str
    facts: str
    topics: str
    instructions: str
    rules_end: str
    student_facts: str = ""  # the heading of the facts where the user is a student

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings as words, without their marks."""
        lines = (self.title, self.last_session, self.facts, self.student_facts, self.topics)
        return tuple(line.strip("# ") for line in lines if line)

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything that the memory block writes around what is remembered."""
        return (*self.headings, self.instructions)


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Small words and word forms: what is never indexed, and what one word has in common with another."""

    # Words without a subject of their own, question words included; folded (lower case, no accents).
    stop_words: Words
    irregular_forms: Mapping[str, str]  # "went" is a form of "go"
    stemmer: str  # the name of the Snowball stemmer
    # Letters that almost every word ends in, where that tells the language; empty where it does not.
    final_letters: str
    # Greetings and other talk that names no topic.
    small_talk: Words
    # Words whose full stop ends no sentence; in a chat; and before a number ("no. 5").
    abbreviations: Words
    chat_abbreviations: Words
    number_signs: Words
    # Titles before a name, as they are written, and small words inside one ("Piazza della Signoria", "Bank of Italy").
    name_titles: str
    name_particles: str
    person_particles: str  # those that the name of a person may hold
    # Words that an apostrophe joins to a name, and names that look like a stop word.
    elisions: str
    names_like_words: Words
    # Units that are words, and labels before cited ids ("sources: …").
    measures: str
    source_labels: str
    articles: Words
    elided_articles: Words  # joined to the noun by an apostrophe: "l'acqua"
    spelled_out: Mapping[str, str]  # words written in haste or without their apostrophe, and as they are written


@dataclass(frozen=True, eq=False, repr=False)
class TopicCues:
    """Phrases that show where a conversation stands, and what a message is for."""

    openings: tuple[str, ...]
    closings: tuple[str, ...]
    # Pronouns that refer to what was said.
    referring: tuple[str, ...]
    # Conjunctions at the beginning, and words that add to what was said.
    joining: tuple[str, ...]
    adding: tuple[str, ...]
    # What takes up an earlier subject again; articles and possessives before something that is known.
    resuming: tuple[str, ...]
    definite: tuple[str, ...]
    # Questions after a person; words of greeting, thanks, praise and leave; what is answered to them (alternatives).
    definitions: tuple[str, ...]
    polite_words: Words
    replies: str


@dataclass(frozen=True, eq=False, repr=False)
class SummaryWording:
    """Labels of a summary, and what a model is told. `{limit}` is filled in."""

    code: str
    user: str
    assistant: str
    mentioned: str
    more: str
    condense: str
    before: str
    talk: str
    title: str
    # Words of a report, which need not have been said in what it reports.
    reporting: str
    # What stands before and after the words of each role where a profile quotes them.
    user_quoted: tuple[str, str]
    assistant_quoted: tuple[str, str]
    # A question and its short answer as one sentence: `{question}` and `{answer}` are filled in;
    # and what a sentence that cannot stand alone begins with (alternatives).
    reported: str
    unfinished: str

    def speaker(self, role: str) -> str:
        """The label of the role that said a line of a summary."""
        return self.user if role == "user" else self.assistant


@dataclass(frozen=True, eq=False, repr=False)
class TitleWords:
    """What a question begins with and a title does not, and phrases that give orders to a model."""

    greetings: tuple[str, ...]
    # "could you" + "explain"; requests that need no such opening; what may follow them ("about").
    polite: str
    asked: tuple[str, ...]
    requests: tuple[str, ...]
    links: tuple[str, ...]
    elided_links: tuple[str, ...]
    orders: tuple[str, ...]
    roles: tuple[str, ...]
    # What a model may write before a title ("Title: …").
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SafetyWords:
    """The fence around stored text (`{marker}` is filled in), the default rules, and what must not look like either."""

    fence_open: str
    fence_close: str
    default_rules: str
    # Alternatives: roles at the beginning of a line, names of tags, first words of a fence.
    roles: str
    tags: str
    fence_words: str


@dataclass(frozen=True, eq=False, repr=False)
class ReaderPhrases:
    """What the extractive reader says itself; everything else it says is taken from the material.

    `opening` stands above the points, `no_more` is said when a follow-up asks for more. Three sentences say that there
    is no answer: `absent` (not in the material), `never_said` (a claim about the past that nothing confirms) and
    `nothing_held` (nothing is stored).
    The names in braces are filled in: `{day}`, `{quote}`, `{names}`, `{name}`.
    """

    opening: str
    absent: str
    unsure: str  # instead of `absent`, before quotes that may answer the question
    no_more: str
    # One line for each kind of small talk; after the first, what one can do where nothing is stored yet.
    greeting: str
    greeting_name: str
    thanks: str
    okay: str
    farewell: str
    feeling: str
    gladness: str
    nothing_yet: str
    nothing_held: str
    titles: str  # above or before the titles of the documents; {count}, {titles}
    # A statement or a command was taken in.
    noted: str
    remembered: str
    standing: str
    forgotten: str
    nothing_to_forget: str
    forget_all: str  # asks to confirm it
    all_forgotten: str
    wishes: str
    no_wishes: str
    # Quotes: of the user, of an earlier answer; a claim about the past that a quote bears out, or does not.
    you_said: str
    i_said: str
    confirmed: str
    nearest: str
    never_said: str
    both: str
    which: str
    until: str
    until_date: str
    # The talk itself: what was said on a day, nothing on that day, what is known of the user.
    talk: str
    talk_user: str
    talk_assistant: str
    no_talk: str
    no_item: str  # what "the second one" refers to is unknown
    mentions: str  # how many messages speak of something: `{number}`
    # The last answer: where it came from and that it is only quoted, `{names}`; what the reader cannot do with it.
    origin: str
    no_origin: str
    certainty: str
    no_translation: str
    no_other_words: str
    known: str
    known_line: str
    fallback: str
    failures: Mapping[str, str]
    notes: Mapping[str, str]
    # Notes that other rooms write in English, each with its sentence in this language; `{}` is a name or a number.
    translated_notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DialogueWords:
    """How messages begin that greet, state, order or ask; alternatives over folded text."""

    greetings: str
    thanks: str
    farewells: str
    okays: str
    # How a question begins without a question mark, how one is put inside a message, and requests to be told something.
    question_openings: str
    asking_clauses: str  # openings of a clause behind a statement that asks without a question mark
    wh_words: str
    tell_me: str
    # Commands, and what stands between them and what is to be kept.
    remember: str
    forget_last: str  # whole commands to forget what was said last
    forget: str
    standing: str
    first_person: str
    # "You told me that …", "I told you that …": claims about what was said.
    assistant_said: str
    user_said: str
    claim_tags: str
    # Questions about the talk, about the last session, about what is known of the user.
    talk: str
    last_session: str
    about_me: str
    about_you: str  # questions for what the assistant is and can do
    # Words of a question by which the wanted answer is told, by type: age, surname, name, colour, brand, code, amount,
    # number, time, place, person, reason; more exactly clock, year, duration, frequency, date; what the first and the
    # last thing said was, who a person is, an order to write or play something; and of how the user is called.
    wanted: Mapping[str, str]
    own_name: str
    advice: str  # words of a question for what the assistant advised
    # What an answer of a type holds, beside digits and names; kin are words for people, reason begins one; the words
    # behind a number that may be an age, the words of the calendar that are written like names, and how one says one's
    # own name.
    held: Mapping[str, str]
    self_named: str
    # Words that any question about the past may hold; words for the same thing, for people and their surroundings.
    past_words: Words
    synonyms: str  # groups divided by semicolons
    changed: str
    corrections: str  # what opens a correction of something said before
    # Questions about what was true earlier, and for a list; wishes for a name and for short answers.
    i_asked: str
    earlier: str
    listing: str
    # Questions for one fact of the user, by its group: age, home, work, study, origin.
    asked_facts: Mapping[str, str]
    call_me: str
    brief: str
    unknowing: str
    # A number of things that are then named, what ends the name of one of them, and what joins two.
    several: str
    item_ends: str
    conjunctions: str
    # What stands before the noun that is asked for ("which"), questions that count, the words between a noun
    # and its name, and the words that begin a clause.
    asked_noun: str = ""
    counting: str = ""
    links: str = ""
    clause_words: str = ""
    # Nouns for the talk itself, articles before each of several things, words before the first word of a question.
    talk_nouns: str = "talk"
    articles: str = ""
    question_leads: str = "and"
    relatives: str = ""  # words for one relative each
    paid_for: str = ""  # before what an amount is paid for
    # Words that exclude each other, as "open / close": what is told with one answers no question with the other.
    opposites: str = ""
    statement_openings: str = ""  # beginnings of statements without a question mark ("my sister, who lives in Rome, …")
    # Polite forms and the familiar ones that they stand for: how an order opens, and inside a question; what may stand
    # before such an order, and the polite orders that ask to be told something.
    polite: Mapping[str, str] = field(default_factory=dict)
    polite_within: Mapping[str, str] = field(default_factory=dict)
    polite_leads: str = ""
    polite_requests: str = ""
    # A verb of `assistant_said` in the third person, words that may stand before it, and a subject behind it.
    said_third: str = ""
    said_leads: str = ""
    said_behind: str = ""
    # What makes a statement a question that asks nothing: before it ("did you know that"), behind it ("you know?").
    telling: str = ""
    telling_tags: str = ""
    subordinate: str = ""  # the opening of a statement that looks like a question: "when I was a girl"
    remember_that: str = ""  # the end of an order to remember that tells what
    # Leave-taking that goes on ("I must go and …"), words of greetings that may be misspelt, an order to end a wish,
    # a yes to what was asked for, acts of a whole message, points that a summary may have, words for a question and
    # for a message of the user's, and how often or whether ever something was mentioned.
    leaving: str = ""
    greeting_words: Words = frozenset()
    stops: str = ""
    confirms: str = ""
    whole: Mapping[str, str] = field(default_factory=dict)
    points: str = ""
    asked_one: str = ""
    message: str = ""
    how_often: str = ""
    ever: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class AnswerInstructions:
    """What a model is told so that it answers from the material, with citations; `{example}` is filled in."""

    system: str
    format: str
    without_material: str
    example: str


@dataclass(frozen=True, eq=False, repr=False)
class QuestionWords:
    """How questions are put, and what their answers look like; alternatives over folded text."""

    # A sentence before the question ("hello, I am Anna"), a tag behind it ("right?"), a request without question mark.
    introductions: str
    tags: str
    requests: str
    politeness: str
    # Alternatives by kind of question: comparison, quantity, list, reason, person, place, time, procedure, definition,
    # explanation.
    kinds: Mapping[str, str]
    plural_definitions: str
    # Adjectives that belong to a question word ("long" in "how long").
    degrees: str
    # Words that put a question and are hardly ever in its answer; verbs that any question may hold.
    asking_words: Words
    light_verbs: Words
    yes_no: str
    small_talk: str
    # Alternatives by kind of question that a fitting answer holds; how a step of a procedure begins.
    answer_signs: Mapping[str, str]
    step_openings: str
    # Words at the beginning of a sentence that cannot be understood without the one before.
    leaning: str


@dataclass(frozen=True, eq=False, repr=False)
class FactPattern:
    """One way of stating something about oneself.

    `clause` matches a whole clause. Its groups `x` and `y` are checked and cleaned by the checks named here
    (`people.objects.CHECKS`) and filled into `text` and `about`. `greeted` patterns hold only right after a greeting.
    """

    kind: FactKind
    clause: str
    text: str
    about: str = ""
    x: str = "thing"
    y: str = "thing"
    confidence: float = 0.9
    greeted: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class FactWords:
    """The patterns of facts of one language, and the words by which what they found is cleaned and refused."""

    code: str
    # What a model is told that extracts facts; `{marker}` is filled in.
    instructions: str
    # `lead` may stand before any pattern; `sign` is in every text that can match one.
    lead: LazyPattern
    sign: LazyPattern
    patterns: tuple[FactPattern, ...]
    # What a claim's words are stripped of, refused for, and cut at.
    fillers: LazyPattern
    refused: LazyPattern
    refused_first: LazyPattern
    cut: LazyPattern
    endings: LazyPattern
    # First person to third person.
    turned: Mapping[str, str]
    reflexive: tuple[LazyPattern, str]
    never_names: Words
    never_places: Words
    passing: Words  # nouns of the moment: the question, the exercise
    # Of those: nouns that can be disliked for life, and phrases with one of them that are subjects nevertheless.
    lasting: Words
    lasting_subjects: tuple[str, ...]
    # Nouns of a piece of work: trouble with them passes with it.
    work: Words
    # Words of a preference that tells how its holder learns.
    learning: Words
    # Things that are only remarked on, not liked in general; words that no subject holds.
    remarks: LazyPattern
    not_subjects: LazyPattern
    # What may stand before a difficulty; difficulties of the day and not of the writer.
    trouble_leads: LazyPattern
    passing_trouble: LazyPattern
    # Alternatives: choices that were offered, what may follow a place, what may follow a name.
    offered: str
    place_endings: str
    name_joiners: str
    personal_titles: str
    # Alternatives: words that open a clause, where a message is cut before each clause is judged.
    clause_openers: str
    # Words after which an opener opens no clause ("I can", "io so"); alternatives: openers that may only join nouns.
    bound: Words
    joins: str
    # Alternatives: pronouns of other persons at the opening of a clause, of a thing, and of one that something is done
    # to; words before one who belongs to the user, and what may stand before the noun for them ("best friend").
    other_pronouns: str
    bare_subjects: str
    object_first: str
    kin_adjectives: str
    # Alternatives: a name is told with a verb of the first person, and statements that may follow it without a mark;
    # a name is told without a word of the first person ("Ann here").
    introduces: str
    run_ons: str
    apposed: tuple[str, ...]  # how what stands behind a name without a verb is told: "I'm {}"
    requests: str  # a wish for help now
    promised: str  # what the assistant said or promised
    introductions: str
    # Alternatives: how a letter closes before the name, and thanks, after which the name stands on a line of its own;
    # a wish to sign as one, and that it is the user; the sentence that such a name stands for.
    closings: str
    thanks: str
    signs: str
    it_is_me: str
    signed: str
    # Alternatives: a part that the user plays in a game, and the words between it and the game; the sentence that it
    # stands for.
    characters: str
    character_joins: str
    has_character: str
    # Alternatives: what takes back the words before it in the same breath.
    slips: str
    possessives: str
    # Alternatives: words before a statement that are no part of it; words by which users speak of themselves.
    clause_leads: str
    self_words: str
    # Alternatives that open a command to keep something and to drop something; what a command to drop names when it
    # speaks of memory; what is a wish for all later answers, and what opens one; words for all there is; words of a
    # command that are no part of what it names.
    remember: str
    forget: str
    remembered_things: str
    standing: str
    standing_openers: str
    # Alternatives: the languages, lengths, units and marks that a wish about answers names.
    wish_languages: str
    wish_lengths: str
    wish_units: str
    wish_marks: str
    wish_sources: str
    wish_spelling: str
    # Alternatives: words by which a wish is for all later answers, wherever they stand in its sentence.
    for_good: str
    # Alternatives: the polite opening of a wish ("you can"); verbs of wishing, and of what others want, say or must do;
    # what a newer thing takes the place of.
    polite: str
    wishes: str
    others_want: str
    surer: float  # how much surer the judge must be of what is said in this language, in logits
    instead: str
    relatives: str  # alternatives: pronouns that open a relative clause
    # Alternatives: whole clauses that announce something and tell nothing ("I changed my mind", "let's talk about …").
    announcements: str
    everything: str
    command_words: Words
    # How a clause in the first person is retold: words for the second and the third person, verbs of the first person
    # in both, and words that forbid it (keys `second`, `third`).
    subjects: Words
    reflexives: Mapping[str, str]
    before_verbs: str
    adverbs: str
    second_person: Mapping[str, str]
    third_person: Mapping[str, str]
    second_verbs: Mapping[str, str]
    third_verbs: Mapping[str, str]
    verbs_and_nouns: Words  # of those: verbs that are nouns too ("lavoro"), or forms of others ("sono")
    not_retold: Mapping[str, LazyPattern]
    # Alternatives before the time since when something holds ("since March"); what the thing before it is called.
    since: str
    states: str  # verbs of a state that can be of one amount at a time
    starting: str  # before the day from which it will
    names_it: str
    # Words by which a clause leans on the one before it: prepositions, and others that open no statement.
    leaning: Words
    # Goals that are one word; alternatives that announce a deadline, and how a fact says it.
    whole_goals: Words
    deadlines: str
    deadline: str
    # Conditions and traits by the word that was used, as a fact says them.
    conditions: Mapping[str, str]
    traits: Mapping[str, str]
    allergies: Mapping[str, str]
    allergy_prepositions: str
    # Alternatives that close a clause and say nothing ("by the way").
    trails: str = "(?!)"


@dataclass(frozen=True, eq=False, repr=False)
class StatementWords:
    """What keeps a sentence from being a plain statement of its writer about themselves.

    Fields without a type of their own are alternatives. Those of the second half are over folded text.
    """

    # Messages that work on a text, play a part or tell a story; sentences that suppose, quote or report.
    not_oneself: str
    # Alternatives: a game of parts is proposed; what the user says after it may belong to the part.
    plays: str
    not_stated: str
    question_openings: str
    # "just kidding": what may stand before it, and what makes it say something else.
    retraction_leads: str
    retractions: str
    retraction_objects: str
    tag_questions: str
    greetings: str
    # Labels of a pasted transcript; the heading of pasted instructions.
    transcript_labels: str
    instructions_heading: str
    about_oneself: str
    # Conjunctions that begin a new statement, with the words that must follow, and those that always do.
    joins: str
    cuts: str
    # Orders: at the beginning of a sentence, after one of the leads; and anywhere.
    order_leads: str
    orders_first: str
    states_first: str
    orders_anywhere: str
    # Alternatives: words of orders against the rules that a model is given.
    hijacks: str
    first_person: LazyPattern
    # Words that every sentence of a kind of fact has, and those of the wording of facts beside them.
    frames: Words
    wording: Words
    negative: str
    overcome: str
    denied: str
    no_trouble: str
    not_now: str
    naming: str
    other_people: str


@dataclass(frozen=True, eq=False, repr=False)
class Calendar:
    """How days and periods are named. Names of months and weekdays are as they are written, all else is folded."""

    month_names: tuple[str, ...]
    month_abbreviations: Words
    weekday_names: tuple[str, ...]
    # The month in which a season begins; each lasts three.
    seasons: Mapping[str, int]
    numbers: Mapping[str, int]
    units: Mapping[str, str]
    # How far a day is from today, as it is written; `{n}` is filled in.
    today: str
    yesterday: str
    days_ago: str
    tomorrow: str
    days_ahead: str
    # Days by their distance from today ("tomorrow": 1), as they are said.
    named_days: Mapping[str, int]
    # Whether 5/8 may be the eighth of May.
    month_first: bool
    # Alternatives inside a date: the first day of a month by name, marks of an ordinal, "of" before the month and
    # before the year, the article, what may stand before a date and before a weekday, what may follow a weekday.
    first_day: str
    ordinal_marks: str
    of_month: str
    of_year: str
    article: str
    date_leads: str
    weekday_leads: str
    next_weekday: str
    # "in two weeks", "two weeks ago", "the last two weeks", and words that point back.
    ahead: str
    ago: str
    lasting: str
    past: str
    # Expressions of a question by kind (dates.RULES); `{month}`, `{weekday}`, `{season}` are those of this language,
    # `{unit}`, `{day}` and `{year}` of any.
    expressions: Mapping[str, tuple[str, ...]]
    # Around an expression: articles, "between … and", "two weeks before", "before", "after", "since"; and those that an
    # expression may begin with itself.
    range_articles: str
    range_opens: str
    range_joins: str
    weekday_unit: str
    unit_before: str
    before: str
    after: str
    since: str
    range_leads: str

    @cached_property
    def months(self) -> Mapping[str, int]:
        """The number of each month by its folded name."""
        return {fold(name): number for number, name in enumerate(self.month_names, start=1)}

    @cached_property
    def weekdays(self) -> Mapping[str, int]:
        """The number of each weekday by its folded name; Monday is 0."""
        return {fold(name): number for number, name in enumerate(self.weekday_names)}

    @cached_property
    def leading_months(self) -> Words:
        """The months, where they may stand before the day."""
        return frozenset(self.months) if self.month_first else frozenset()

    @cached_property
    def day_units(self) -> Words:
        """The names of days and weeks."""
        return frozenset(name for name, unit in self.units.items() if unit in ("day", "week"))

    @cached_property
    def weekday_spellings(self) -> str:
        """Alternatives for the weekdays as people write them: "lunedì", "lunedi", "lunedi'"."""
        return "|".join(
            re.sub(r"[^\x00-\x7f]", lambda c: f"[{fold(c[0])}{c[0]}]'?", name.lower()) for name in self.weekday_names
        )


@dataclass(frozen=True, eq=False, repr=False)
class Language:
    """Everything that Ricordo knows of a language."""

    code: str
    labels: Locale
    memory: MemoryWords
    vocabulary: Vocabulary
    calendar: Calendar
    followups: FollowUpWords
    topics: TopicCues
    safety: SafetyWords
    facts: FactWords
    summaries: SummaryWording
    titles: TitleWords
    reader: ReaderPhrases
    dialogue: DialogueWords
    answers: AnswerInstructions
    questions: QuestionWords
    statements: StatementWords
