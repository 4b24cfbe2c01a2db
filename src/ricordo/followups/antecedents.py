"""What pronouns and things left out stand for, chosen among the phrases of the talk.

References and the focus of the talk go in; phrases come out, the surest first. A person takes the person in question,
a noun its last mention, a clitic what agrees with it, and everything else the topic.
"""

from collections.abc import Sequence

from ricordo.followups.focus import Focus, Mention
from ricordo.followups.language import Language
from ricordo.followups.line import stem
from ricordo.followups.reference import Reference


def antecedents(references: Sequence[Reference], focus: Focus, language: Language) -> list[Mention]:
    """The phrases that the references stand for, the surest first."""
    found: list[Mention] = []
    for reference in references:
        if reference.person and focus.person is not None:
            found.append(focus.person)
        elif reference.noun:
            noun = stem(reference.noun)
            same = next(((m,) for m in reversed(focus.seen) if noun in m.phrase.stems), focus.centre[:1])
            found.extend(same)
        else:
            found.extend(_agreeing(reference, focus, language) or focus.centre[:1])
    # A topic that slipped in along the way is still about what the talk opened with.
    if focus.lasting is not None:
        found.append(focus.lasting)
    return list(dict.fromkeys(found))


def _agreeing(reference: Reference, focus: Focus, language: Language) -> list[Mention]:
    """ "Perché l'ha inventata?": what the last question named with an article of that gender, if the topic has none."""
    determiners = {"f": language.feminine, "m": language.masculine}.get(reference.gender, frozenset())
    central = focus.centre[0].phrase.determiner if focus.centre else ""
    if not determiners or central in determiners or (reference.gender == "m" and not central):
        return []
    last = [m for m in focus.seen if m.turn_number == focus.turn_number and m.origin == "question"]
    return [mention for mention in reversed(last) if mention.phrase.determiner in determiners][:1]
