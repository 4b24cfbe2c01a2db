"""Receipts leave nothing behind that only a search for garbage would find."""

import gc

from ricordo.prompt.receipt import from_stored, to_stored
from talks import memory


def test_a_receipt_leaves_no_cycles() -> None:
    """Writing and reading a receipt makes no cycle: its texts go with it, however seldom garbage is looked for."""
    with memory() as kept:  # and closed again: what works beside a talk may leave garbage of its own
        session = kept.session("s", user_id="anna")
        session.add_turn("first " * 200, "answer " * 200)
        receipt = session.context("and then?").receipt
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            from_stored(to_stored(receipt, "s", 2))
        assert gc.collect() == 0
    finally:
        gc.enable()
