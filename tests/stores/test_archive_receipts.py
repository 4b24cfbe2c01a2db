"""Receipts as few bytes: what goes in comes out, damage is found out, and the figure that they are packed for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import DamageError
from ricordo.prompt.receipt import to_stored
from ricordo.stores.archive import export
from ricordo.stores.archive.codec import UnreadablePayload
from ricordo.stores.archive.export import pack_receipt, unpack_receipt

PACKED = "0128b52ffd243d950000107b7d04001ae604d5660236cc1f7060c02bcd42ff86"


@given(st.text())
def test_what_is_packed_comes_back(body: str) -> None:
    """Any text is itself again."""
    assert unpack_receipt(pack_receipt(body)) == body


@given(st.text(), st.data())
def test_damage_is_found_out(body: str, data: st.DataObject) -> None:
    """One changed byte, a cut or more bytes at the end give an error or the very text, never another one."""
    packed = pack_receipt(body)
    at = data.draw(st.integers(0, len(packed) - 1))
    changed = bytearray(packed)
    changed[at] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(changed), packed[:at], packed + b"more"):
        try:
            assert unpack_receipt(damaged) == body
        except UnreadablePayload:
            continue


@pytest.mark.parametrize("strange", [b"", b"\x01", b"\x02rest", b"\x01no frame at all"])
def test_strange_bytes_are_unreadable(strange: bytes) -> None:
    """Bytes that never were a receipt raise the one error."""
    with pytest.raises(UnreadablePayload):
        unpack_receipt(strange)


def test_a_frame_that_declares_too_much_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is unpacked that says it is larger than a receipt may be."""
    packed = pack_receipt("x" * 100)
    monkeypatch.setattr(export, "LARGEST", 99)
    with pytest.raises(UnreadablePayload, match="declared"):
        unpack_receipt(packed)


def test_an_altered_dictionary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes under its name would read nonsense: they are not used."""
    monkeypatch.setattr(export, "_DIGEST", "0" * 64)
    with pytest.raises(DamageError, match="reinstall"):
        export._dictionary.__wrapped__()


def test_the_form_is_fixed() -> None:
    """A receipt that was packed when the form was fixed is read today."""
    assert unpack_receipt(bytes.fromhex(PACKED)) == '{"items":[["question","question",3,true,"asked",true,false]]}'


@pytest.mark.parametrize("preset", ["tutor", "assistant", "balanced"])
def test_a_receipt_takes_a_quarter_or_less(preset: str) -> None:
    """Receipts of real contexts, with history and chunks, in both languages."""
    with ricordo.open("memory:", preset=preset, embedder="light") as memory:
        session = memory.session("s", user_id="anna")
        chunks = [(f"manuale-{n}", f"Il capitolo {n} dice come si accorda lo strumento. " * 4) for n in range(6)]
        for question in ("Come si accorda una chitarra?", "And how often should I do it?", "Dimmi di più"):
            context = session.context(question, chunks=chunks)
            session.add_turn(question, "Si comincia dalla sesta corda, con calma, e si ascolta.")
        body = to_stored(context.receipt, "s", 3).body
    assert len(pack_receipt(body)) * 4 <= len(body.encode())
