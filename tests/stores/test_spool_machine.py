"""Whatever happens in whatever order: what was acknowledged is stored in the end, once, in order, and nothing else."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from spool_samples import HASTY, Switched, spooled

from ricordo.errors import StoreUnavailable
from ricordo.records.turns import Owner, SessionChanges, StoredReceipt, Turn
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool.writes import AddMessage, AnswerTurn, AppendTurn, UpdateSession, Write
from ricordo.testing.fakes import a_message, a_turn, an_answer

sessions = st.sampled_from(["s1", "s2"])
words = st.sampled_from(["alpha", "beta", "è così"])
roles = st.sampled_from(["user", "assistant", "tool", "system"])


class Outages(RuleBasedStateMachine):
    """One client, a database that comes and goes, a process that is restarted; beside it a store that never fails."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ricordo-spool-"))
        self.owner = Owner("acme", "anna")
        self.oracle = MemoryStore()
        self.database = Switched(MemoryStore())
        self.asked: list[tuple[str, str]] = []
        self.said: list[AppendTurn] = []
        self.store = spooled(lambda: self.database, self.folder / "spool", HASTY)

    def write(self, write: Write) -> None:
        """Acknowledged or not; if it is, the oracle does it too, and what came back is right where all is known."""
        try:
            given = self.tell(write)
        except StoreUnavailable:
            self.database.speak()
            assert self.store._connection.wait_for_abandoned(10)  # a call that was left may still be done
            if self.was_done(write):
                write.apply(self.oracle)
            return
        wanted = write.apply(self.oracle)
        if not any("be read now" in note for note in self.store.sessions.notes(self.owner, write.scope[1])):
            assert given == wanted or isinstance(write, UpdateSession)

    def was_done(self, write: Write) -> bool:
        """A write that was not acknowledged may have been done all the same, if only its answer was lost."""
        if isinstance(write, AnswerTurn):
            turn = self.database.store.turns.get(self.owner, write.turn_id)
            return turn is not None and write.answer.says_the_same(turn.answer)
        assert isinstance(write, UpdateSession), "turns and messages are always acknowledged"
        info = self.database.store.sessions.get(*write.scope)
        return info is not None and info.title == write.changes.title

    def tell(self, write: Write) -> object:
        """The write, as a client does it."""
        if isinstance(write, AppendTurn):
            return self.store.turns.append(write.turn, receipt=write.receipt)
        if isinstance(write, AnswerTurn):
            return self.store.turns.answer(self.owner, write.turn_id, write.answer, dict(write.metadata), write.receipt)
        if isinstance(write, AddMessage):
            return self.store.turns.add_message(write.turn)
        return self.store.sessions.update(self.owner, write.session_id, write.changes)

    @rule(session_id=sessions, query=words, is_open=st.booleans(), receipt=st.booleans())
    def append(self, session_id: str, query: str, is_open: bool, receipt: bool) -> None:
        turn = a_turn(self.owner, query, None if is_open else "yes", session_id=session_id)
        write = AppendTurn(turn, StoredReceipt(session_id, 0, f'["{query}"]') if receipt else None)
        self.write(write)
        self.said.append(write)
        if is_open:
            self.asked.append((turn.id, session_id))

    @rule(which=st.integers(0, 50))
    def say_again(self, which: int) -> None:
        """A client that was not told repeats itself; so does one that was."""
        if self.said:
            self.write(self.said[which % len(self.said)])

    @rule(which=st.integers(0, 50), response=words)
    def answer(self, which: int, response: str) -> None:
        if self.asked:
            turn_id, session_id = self.asked[which % len(self.asked)]
            turn = self.oracle.turns.get(self.owner, turn_id)
            if turn and turn.is_open:
                self.write(AnswerTurn(self.owner, session_id, turn_id, an_answer(response), {"n": 1}))

    @rule(session_id=sessions, role=roles, content=words)
    def add_message(self, session_id: str, role: str, content: str) -> None:
        """Messages are told apart by their time, as a clock gives it."""
        turn = a_message(self.owner, role, f"{content} {uuid4()}", session_id=session_id)  # type: ignore[arg-type]
        self.write(AddMessage(turn))

    @rule(session_id=sessions, title=words)
    def update(self, session_id: str, title: str) -> None:
        if self.oracle.sessions.get(self.owner, session_id):
            self.write(UpdateSession(self.owner, session_id, SessionChanges(title=title)))

    @rule(session_id=sessions, last=st.integers(1, 5))
    def read(self, session_id: str, last: int) -> None:
        """What is read while nothing is missing is what was said."""
        try:
            found = self.store.turns.page(self.owner, session_id, last=last)
        except StoreUnavailable:
            return
        if not any("be read now" in note for note in self.store.sessions.notes(self.owner, session_id)):
            assert list(found) == list(self.oracle.turns.page(self.owner, session_id, last=last))

    @rule()
    def fail(self) -> None:
        self.database.up = False

    @rule()
    def lose_answers(self) -> None:
        """The next thing that the database does is done, and nobody is told."""
        self.database.loses_answers = True

    @rule(late=st.booleans())
    def hush(self, late: bool) -> None:
        """From now on nobody is answered; what the database was told to do is done, or waits."""
        self.database.hush(late=late)

    @rule()
    def speak(self) -> None:
        self.database.speak()

    @rule()
    def restore(self) -> None:
        self.database.speak()
        self.database.loses_answers = False
        self.database.up = True

    @rule(settled=st.booleans())
    def restart(self, settled: bool) -> None:
        """The process ends, at a quiet moment or not, and another one opens the directory."""
        self.database.speak()  # what a process that is gone had under way comes to an end with it
        assert self.store._connection.wait_for_abandoned(10)
        if settled and self.database.up and not self.database.loses_answers:
            assert self.store.settle(20)
        for part in (self.store._replay.stop, self.store._connection.close, self.store._spool.close):
            part()
        self.store = spooled(lambda: self.database, self.folder / "spool", HASTY)

    @rule()
    def removal_is_lost(self) -> None:
        """The process ends after everything was stored and before any of it was removed from the disk."""
        if self.database.loses_answers:
            return
        self.database.speak()
        copy = self.folder / str(uuid4())
        with self.store._replay.sending:  # between two removals
            shutil.copytree(self.folder / "spool", copy)
        self.database.up = True
        assert self.store.settle(20)
        self.store.close()
        shutil.rmtree(self.folder / "spool")
        copy.rename(self.folder / "spool")
        self.store = spooled(lambda: self.database, self.folder / "spool", HASTY)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        try:
            self.restore()
            assert self.store.settle(20)
            self.check()
        finally:
            self.store.close()
        assert [path.name for path in (self.folder / "spool").glob("*.spool")] == []
        shutil.rmtree(self.folder)

    def read_through(self, session_id: str) -> list[Turn]:
        """What the store reads; it may only now hear of an outage that was over before anybody had noticed it."""
        try:
            return list(self.store.turns.page(self.owner, session_id))
        except StoreUnavailable:
            assert self.store.settle(20)
            return list(self.store.turns.page(self.owner, session_id))

    def check(self) -> None:
        """The database holds what the oracle holds."""
        assert self.store.health().spool.refused == 0
        for session_id in ("s1", "s2"):
            kept = list(self.database.store.turns.page(self.owner, session_id))
            assert kept == list(self.oracle.turns.page(self.owner, session_id))
            assert [turn.turn_number for turn in kept] == list(range(1, len(kept) + 1))
            assert self.read_through(session_id) == kept
            info, wanted = (store.sessions.get(self.owner, session_id) for store in (self.database.store, self.oracle))
            assert (info and replace(info, revision=0)) == (wanted and replace(wanted, revision=0))
            wanted_receipts = list(self.oracle.turns.receipts(self.owner, session_id))
            assert list(self.database.store.turns.receipts(self.owner, session_id)) == wanted_receipts


TestOutages = Outages.TestCase
TestOutages.settings = settings(
    max_examples=100,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.generate],  # threads make a failure hard to repeat, and shrinking it slow
)
