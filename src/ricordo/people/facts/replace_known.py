"""Find the known fact that a clause changes or ends.

A claim and the known facts go in; the claim comes out, with the `about` and kind of the fact that it replaces, so that
the timeline of that subject ends the one with the other. A claim that replaces nothing keeps its own `about`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ricordo.people.facts.claims import Claim, core_terms
from ricordo.records.people import Fact

# Groups of which a person has one at a time: a newer claim replaces the older.
_SINGLE = frozenset({"name", "age", "home", "work", "study", "partner", "diet"})
# The groups of the subjects that patterns name.
_GROUPS = {
    "name": "name", "age": "age", "place:home": "home", "job": "work", "study": "study", "class": "study",
    "place:school": "study",
}  # fmt: skip


def placed(claim: Claim, known: Iterable[Fact]) -> Claim:
    """The claim with the subject of the fact that it replaces, or that came from the same words before."""
    instruction = claim.about.startswith("instruction:")
    current: dict[str, Fact] = {}
    for fact in known:
        if any(source.message_id == claim.said.id and source.quote == claim.quote for source in fact.sources):
            return replace(claim, about=fact.about, kind=fact.kind)
        if (
            fact.text
            and fact.about
            and fact.about.startswith("instruction:") == instruction
            and fact.valid_from < claim.said.created_at
            and (fact.about not in current or current[fact.about].valid_from < fact.valid_from)
        ):
            current[fact.about] = fact
    facts = [fact for fact in current.values() if all(source.message_id != claim.said.id for source in fact.sources)]
    chosen = _replaced(claim, facts) if claim.replaces or instruction else None
    return replace(claim, about=chosen.about, kind=chosen.kind) if chosen else claim


def _replaced(claim: Claim, facts: list[Fact]) -> Fact | None:
    """The fact that shares the rarest words with a claim; else the newest of its group; else the only one."""
    terms = {fact.id: core_terms("other", fact.text, fact.language) for fact in facts}
    common = Counter(term for own in terms.values() for term in own)
    wanted = core_terms("other", claim.text, claim.language)

    def shared(fact: Fact) -> float:
        return sum(1 / common[term] for term in terms[fact.id] & wanted)

    facts.sort(key=lambda fact: (shared(fact), fact.valid_from))
    if facts and shared(facts[-1]):
        return facts[-1]
    group = group_of(claim.about)
    same = [fact for fact in facts if group_of(fact.about) == group != "other"]
    if same and (claim.replaces or group in _SINGLE):
        return max(same, key=lambda fact: fact.valid_from)
    return facts[0] if len(facts) == 1 and claim.replaces else None


def group_of(about: str) -> str:
    """The group of the subject that an `about` value names."""
    family, _, rest = about.partition(":")
    return rest.partition(":")[0] if family in ("said", "instruction") else _GROUPS.get(about, "")
