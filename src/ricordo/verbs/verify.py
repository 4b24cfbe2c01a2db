"""Verifying: re-derive everything that can be derived from what is stored, and report every difference.

Looks at the database's own structure, at each session's numbering and counts, at each turn's checksum and token
counts, at receipts, archive blocks, topics, summaries and facts. It changes nothing, and one damage does not hide the
next.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from ricordo.errors import DamageError, RicordoError
from ricordo.receipt import from_stored
from ricordo.records import Owner, SessionInfo, Turn, checksum
from ricordo.reports import Damage, Verification
from ricordo.tokens import recounted
from ricordo.verbs.tools import Tools
from ricordo.verbs.verify_person import bad_facts, bad_summaries
from ricordo.verbs.verify_topics import BETWEEN_LOOKS, LOOKS, Place, bad_blocks, bad_shelves, place_of

PAGE = 500

Progress = Callable[[int, int], None]


def verify(
    tools: Tools, tenant_id: str, progress: Progress | None = None, *, pause: float = BETWEEN_LOOKS
) -> Verification:
    """Check everything of a tenant; `pause` seconds before looking again at what somebody may be changing."""
    damages = list(tools.store.integrity())
    owners = _owners(tools, tenant_id, damages)
    sessions = turns = 0
    for done, owner in enumerate(owners, start=1):
        for session in _sessions(tools, owner):
            if isinstance(session, Damage):
                damages.append(session)
                continue
            sessions += 1
            counted, found = _check_again(tools, session, pause)
            turns += counted
            damages += found
        damages += bad_facts(tools, owner)
        if progress:
            progress(done, len(owners))
    return Verification(sessions, turns, tuple(damages))


def _owners(tools: Tools, tenant_id: str, damages: list[Damage]) -> list[Owner]:
    try:
        return list(tools.store.owners(tenant_id))
    except DamageError as error:
        damages.append(Damage(f"tenant {tenant_id!r}", f"its users cannot be listed: {error}"))
        return []


def _sessions(tools: Tools, owner: Owner) -> Iterator[SessionInfo | Damage]:
    """Every session of an owner; an unreadable one comes as a Damage, and the others all the same."""
    seen: set[str] = set()
    try:
        page = tools.store.sessions(owner, limit=PAGE)
        while page:
            seen.update(session.id for session in page)
            yield from page
            page = tools.store.sessions(owner, limit=PAGE, before=page[-1])
    except DamageError:
        yield from _one_by_one(tools, owner, seen)


def _one_by_one(tools: Tools, owner: Owner, seen: set[str]) -> Iterator[SessionInfo | Damage]:
    where = f"user {owner.user_id!r}"
    try:
        names = tools.store.marks(owner).keys() - seen
    except DamageError as error:
        yield Damage(where, f"the sessions cannot be listed: {error}")
        return
    for name in sorted(names):
        try:
            session = tools.store.session(owner, name)
        except DamageError as error:
            yield Damage(f"{where}, session {name!r}", f"cannot be read: {error}")
        else:
            if session is not None:  # else it was deleted meanwhile
                yield session


def _check_again(tools: Tools, session: SessionInfo, pause: float) -> tuple[int, list[Damage]]:
    """Check a session; once more if somebody wrote in it meanwhile, which would look like damage."""
    for _ in range(LOOKS):
        counted, found = _check_session(tools, session, pause)
        now = tools.store.session(session.owner, session.id) if found else session
        if now is None:
            return counted, []
        if now.revision == session.revision:
            break
        session = now
    return counted, found


def _check_session(tools: Tools, session: SessionInfo, pause: float) -> tuple[int, list[Damage]]:
    where = f"user {session.owner.user_id!r}, session {session.id!r}"
    damages: list[Damage] = []
    numbers: list[int] = []
    places: list[Place] = []
    newest = session.created_at
    for turn in _turns(tools, session):
        if isinstance(turn, Damage):
            damages.append(Damage(f"{where}, {turn.where}", turn.problem))
            continue
        numbers.append(turn.turn_number)
        places.append(place_of(turn))
        newest = max([newest, turn.created_at, *(message.created_at for message in turn.messages)])
        if turn.damage:
            damages.append(Damage(f"{where}, turn {turn.turn_number}", turn.damage))
        elif checksum(turn) != turn.checksum:
            damages.append(Damage(f"{where}, turn {turn.turn_number}", "its content does not match its checksum"))
        elif (
            turn.counter == tools.counter.name
            and turn.tokens != recounted(replace(turn, counter=""), tools.counter).tokens
        ):
            damages.append(Damage(f"{where}, turn {turn.turn_number}", "its token counts are not those of its text"))
    unreadable = sum(damage.problem.startswith("cannot be read") for damage in damages)
    if len(numbers) + unreadable != session.turn_count:
        present = set(numbers)
        first = min(numbers, default=session.last_turn + 1)
        absent = (str(n) for n in range(first, session.last_turn + 1) if n not in present)
        missing = ", ".join(islice(absent, 10))
        detail = f"; missing: {missing}" if missing else ""
        damages.append(Damage(where, f"holds {len(numbers)} turns but counts {session.turn_count}{detail}"))
    if numbers and max(numbers) > session.last_turn:
        damages.append(Damage(where, f"numbers up to {session.last_turn} but holds turn {max(numbers)}"))
    if not damages and session.last_active_at < newest:
        damages.append(Damage(where, "was active after the time it says, so it may be forgotten too early"))
    whole = len(places) == session.turn_count
    damages += [*_bad_receipts(tools, session, where), *bad_blocks(tools, session, where)]
    damages += bad_summaries(tools, session, where)
    if whole:  # what topics count follows from the turns: where some are lost, that is said already
        damages += [Damage(where, problem) for problem in bad_shelves(tools, session, places, pause)]
    return len(numbers), damages


def _bad_receipts(tools: Tools, session: SessionInfo, where: str) -> Iterator[Damage]:
    try:
        for stored in tools.store.receipts(session.owner, session.id, limit=max(session.last_turn, 1)):
            try:
                from_stored(stored)
            except RicordoError as error:
                yield Damage(f"{where}, turn {stored.turn_number}", str(error))
    except RicordoError as error:
        yield Damage(where, f"its receipts cannot be read: {error}")


def _turns(tools: Tools, session: SessionInfo) -> Iterator[Turn | Damage]:
    """Every turn of a session; an unreadable one comes as a Damage."""
    for first in range(0, session.last_turn, PAGE):
        try:
            yield from tools.store.turns(session.owner, session.id, after=first, before=first + PAGE + 1)
        except DamageError:
            for number in range(first + 1, min(first + PAGE, session.last_turn) + 1):
                try:
                    yield from tools.store.turns(session.owner, session.id, after=number - 1, before=number + 1)
                except DamageError as error:
                    yield Damage(f"turn {number}", f"cannot be read: {error}")
    last_read = -(-session.last_turn // PAGE) * PAGE
    yield from tools.store.turns(session.owner, session.id, after=last_read)
