"""What a language has to provide for follow-up questions: grammar, ordinals, pronouns and patterns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from ricordo.languages.registry import Words


@dataclass(frozen=True, eq=False, repr=False)
class ClarificationWording:
    """The wording of a clarification: `which` holds `{options}`, `joiner` stands before the last option."""

    which: str
    joiner: str


@dataclass(frozen=True, eq=False, repr=False)
class FollowUpWords:
    """The words of a language by the part they play in a follow-up question.

    Patterns are regular expressions over the normalised line: lower case, single spaces, no apostrophes.
    """

    code: str
    # Grammar: what is never the topic of a question.
    function_words: Words
    verbs: Words
    modifiers: Words
    empty_adjectives: Words
    second_person: Words
    clause_words: Words
    coordinators: Words
    relatives: Words
    articles: Words
    indefinite: Words
    links: Words
    prepositions: Words
    auxiliaries: Words
    copulas: Words
    manner_words: Words
    question_words: Words
    # Nouns that say nothing without "of what": cause, symptom, price.
    relational: Words
    time_nouns: Words
    # General nouns that stand for something named before ("the company"), and nouns that sort it ("what kind").
    general_nouns: Words
    sorting_words: Words
    # Ordinals and lists.
    ordinals: Mapping[str, int]
    ambiguous_ordinals: Words  # another word when they stand alone ("prima": before)
    cardinals: Mapping[str, int]
    neighbours: Mapping[str, int]
    list_nouns: Words
    list_owners: Words
    ones: Words
    ordinal_stoppers: Words
    both: Words
    every: Words
    none: Words
    none_alone: Words
    group_pronouns: Words
    number_words: Words
    measures: str
    # Labels said on their own: articles that introduce one, whether a letter needs one, words that only ask for it.
    label_articles: Words
    label_article_needed: bool
    requests: Words
    # "the rest", "gli altri": every item but those named.
    rests: Words
    partitives: Words
    set_articles: Words
    # What gives away a verb that no table holds: its ending after a modal, or after a question word.
    infinitive: str
    first_person: str
    action_askers: Words
    # Pronouns; determiners tell the gender of what they may stand for.
    # "the latter": one of the two sides of a choice, before it is a place in a list.
    of_two: Words
    personal: Words
    plural_pronouns: Words
    person_pronouns: Words
    possessive: Words
    demonstrative: Words
    place: Words
    clitics: Words
    clitic_hosts: Words
    enclitic: str
    subject_pronouns: Words
    replaceable: Words
    owned: Words
    person_words: Words
    pleonastic: str
    # What a word of comparison may be followed by to mean the thing named before ("più di quella fredda").
    comparatives: Words
    # The articles that a clitic announces when its noun comes later ("lo ha scritto il …"), and verbs with a subject.
    announced: Mapping[str, str]
    own_subject: str
    # Whole-message and cue patterns.
    fillers: Words
    polite_endings: Words
    # Asking to go on: one of the phrases, then any of the tails ("explain" + "it" + "again").
    going_on: str
    going_on_tails: str
    openers: str
    bare_question: str
    zero_subject: str
    statement: str
    back: str
    # Weaker returns, believed when the talk holds what they name; and one item told by what it says.
    recalled: str
    the_one: str
    last_answer: str
    comparison: str
    bare_comparison: str
    headless: str
    plural_of: str
    presupposing: str
    introduction: str
    choice_words: Words
    between_words: Words
    clarifying: ClarificationWording
    # What a model is told that rewrites a follow-up as a standalone question.
    rewrite_instructions: str
    # What is done is no thing: "do it".
    deeds: Words = frozenset()
    # Possessives that stand where an article would; prepositions without the article they are joined to.
    owners: Words = frozenset()
    contracted: Mapping[str, str] = field(default_factory=dict)
    # Conjunctions that open a replaceable part as a preposition does ("while pregnant").
    part_openers: Words = frozenset()
    # Words of a request that are no part of what is asked ("explain", "spiegami").
    asking_openers: Words = frozenset()
    # Months, weekdays and seasons; numbers in letters.
    time_names: Words = frozenset()
    numerals: Words = frozenset()
    # A correction: its groups `new` and `old` are what is meant and what is taken back.
    corrections: tuple[str, ...] = ()
    # Words that admit a slip, at the beginning and at the end of a message, and what leads to the new part.
    slip_opens: str = r"(?!)"
    slip_ends: str = r"(?!)"
    slip_leads: str = r"(?!)"
    # A question about the speaker, which is complete whatever was talked about ("where do I live?").
    about_self: str = r"(?!)"
    # What follows or precedes the new part and is none of it ("too", "sorry").
    part_fillers: Words = frozenset()
    # Words that introduce a name after a general noun ("called"); verbs that tell nothing of their subject.
    light_verbs: Words = frozenset()
    # Gender and number ("s" or "p") of the articles, where the language has them.
    article_forms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    feminines: Words = frozenset()  # that end as a verb does
    # Words before a verb ("to", "si"), whether they tell one by themselves, and the form of a participle.
    verb_markers: Words = frozenset()
    verb_markers_alone: bool = False
    participle: str = r"(?!)"
    # Nouns for the talk itself: "this topic" is what it is about.
    talk_nouns: Words = frozenset()
    # A past form that ends a phrase is said of it ("the band released").
    past: str = r"(?!)"
    # "my", before someone of the speaker's own; requests whose object is a text of its own ("translate: …").
    own_people: Words = frozenset()
    text_requests: Words = frozenset()
    # Words that tell of a person ("she", "sister", "born"), with "m" or "f" where they tell of a man or a woman; and
    # prepositions after which a name is a place's or a time's.
    person_genders: Mapping[str, str] = field(default_factory=dict)
    locatives: Words = frozenset()
    # Abbreviations and common typing errors of cue words, one word for one.
    spellings: Mapping[str, str] = field(default_factory=dict)
    # Verbs that may stand without a subject: which forms, after which the subject may stand, and which take objects.
    third_person: str = r"(?!)"
    subject_follows: Words = frozenset()
    objects_follow: Words = frozenset()
    existential: Words = frozenset()
    happens: Words = frozenset()
    past_form: str = r"(?!)"
    # Words that tell that several are spoken of, by themselves or by the ending of a verb; plurals of another form.
    plural_verb: str = r"(?!)"
    plural_nouns: Words = frozenset()
    # Thanks, refusals, and words of messages that only acknowledge.
    thanks: Words = frozenset()
    refusals: Words = frozenset()
    acknowledgements: Words = frozenset()
    # Sentence openings that number an answer in prose; 0 stands for the closing one.
    sequence: Mapping[str, int] = field(default_factory=dict)
    do_support: Words = frozenset()
    gerund: str = ""
    # For titles: verbs after which subject and bare verb follow, verbs between a thing and what it is, words before a
    # verb, articles of the plural, and the word that ties a verb to its subject (empty where a gerund does).
    support_verbs: Words = frozenset()
    linking_verbs: Words = frozenset()
    verb_particles: Words = frozenset()
    plural_articles: Words = frozenset()
    relative: str = ""
    graded: str = ""
    onset_article: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def language_weights(self) -> Mapping[str, int]:
        """How strongly a word indicates the language: 2 for grammar, 1 for common words."""
        common = (self.verbs, self.relational, self.modifiers, self.ordinals, self.cardinals)
        return dict.fromkeys(chain(*common), 1) | dict.fromkeys(self.function_words, 2)

    @cached_property
    def place_words(self) -> Words:
        """Words of which one must be there where a place of a list is named, unless it is a label or a number."""
        return self.list_nouns.union(self.ordinals, self.neighbours, self.none, self.both, self.every, self.cardinals)

    @cached_property
    def determiners(self) -> Words:
        """Words that a noun follows."""
        return self.articles.union(self.indefinite, self.owners)

    @cached_property
    def before_verbs(self) -> Words:
        """Words of which one stands before a word in the place of a verb."""
        asking = self.question_words.union(self.manner_words, self.action_askers)
        return asking.union(self.verb_markers, self.subject_pronouns, self.auxiliaries)

    @cached_property
    def pointing_words(self) -> Words:
        """Words that may stand for something outside the question; so may a verb with a pronoun at its end."""
        return self.demonstrative.union(self.personal, self.possessive, self.place, self.ones, self.clitics)

    @cached_property
    def patterns(self) -> Mapping[str, re.Pattern[str]]:
        """Every pattern of the table, compiled once."""
        _ = self.correction_patterns  # one question waits for all of them, not two
        whole = {"continuation": re.compile(f"{self.going_on}(?: {self.going_on_tails})*")}
        names = (
            "measures infinitive participle past first_person enclitic pleonastic own_subject openers bare_question "
            "zero_subject third_person past_form plural_verb "
            "statement back recalled the_one last_answer "
            "comparison bare_comparison headless plural_of presupposing introduction "
            "slip_opens slip_ends slip_leads about_self"
        )
        return whole | {name: re.compile(getattr(self, name)) for name in names.split()}

    @cached_property
    def correction_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of corrections, compiled once."""
        return tuple(map(re.compile, self.corrections))

    def is_number(self, word: str) -> bool:
        """Whether a word is a number, in digits or in letters."""
        return word in self.numerals or word.isdecimal()
