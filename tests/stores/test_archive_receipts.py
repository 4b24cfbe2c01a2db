"""Receipts as few bytes: what goes in comes out, damage is found out, and the figure that they are packed for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import DamageError
from ricordo.prompt.receipt import to_stored
from ricordo.stores.archive import receipts
from ricordo.stores.archive.codec import UnreadablePayload
from ricordo.stores.archive.receipts import pack_receipt, unpack_receipt

FORM_1 = "0128b52ffd243d950000107b7d04001ae604d5660236cc1f7060c02bcd42ff86"
DIGEST = "de49c10a6d1e22faa82927b3"
VARIED = (
    '{"items":[["history","01a1e59a-446a-7ec1-bdfa-6748131654c7",144,true,"recent",true,false],'
    '["chunks","doc-15",136,true,"cited",true,false]],"messages_digest":"' + "1d44ce617fd0544c" * 4 + '","recipe":['
    '{"message":"01a1e59a-446a-7ec1-bdfa-6748131654c7:query"},"<<DATA 7d3cf594>> ",'
    f'{{"passage":"{DIGEST}"}},{{"passage":"{DIGEST}"}}]}}'
)
FORM_2 = (
    "0201b9180801070590010f8801347d3cf59401a1e59a446a7ec1bdfa6748131654c71d44ce617fd0544c1d44ce617fd0544c"
    "1d44ce617fd0544c1d44ce617fd0544c20ca3d0100487b5d015b02227d5d7d080034e751293a9c9d0b60b1532fd94ecc3008"
    "3f09510801290de7b802"
)


@given(st.text())
def test_what_is_packed_comes_back(body: str) -> None:
    """Any text is itself again."""
    assert unpack_receipt(pack_receipt(body)) == body


HEX = st.sampled_from([8, 24, 64]).flatmap(lambda size: st.text("0123456789abcdef", min_size=size, max_size=size))
VARYING = st.lists(st.sampled_from(['"', " ", ":", ",", ">>", "-", "#", "chunks", "true"]) | HEX | st.uuids().map(str)
                   | st.integers(0, 10**12).map(str) | st.text(), max_size=30)  # fmt: skip


@given(VARYING, st.data())
def test_ids_digests_and_counts_come_back_as_they_were(parts: list[str], data: st.DataObject) -> None:
    """Whatever is taken out and put back, again and again, in whatever order, named by number or not."""
    body = "".join(
        part for each in parts for part in ('"', each, *data.draw(st.lists(st.sampled_from(parts), max_size=2)))
    )
    numbers = {part: number for number, part in enumerate(sorted(set(parts))) if number % 2}
    digests = {number: part for part, number in numbers.items()}
    packed = pack_receipt(body, numbers)
    assert unpack_receipt(packed, lambda named: {number: digests[number] for number in named}) == body


def test_a_text_that_is_gone_or_another_is_found_out() -> None:
    """A receipt is not read with another digest than it named."""
    packed = pack_receipt(VARIED, {DIGEST: 7})
    assert unpack_receipt(packed, lambda named: dict.fromkeys(named, DIGEST)) == VARIED
    for digests in ({}, {7: DIGEST[::-1]}, {8: DIGEST}):
        with pytest.raises(UnreadablePayload):
            unpack_receipt(packed, lambda _, digests=digests: digests)  # type: ignore[misc]


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
    monkeypatch.setattr(receipts, "LARGEST", 99)
    with pytest.raises(UnreadablePayload, match="declares"):
        unpack_receipt(packed)


def test_an_altered_dictionary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes under its name would read nonsense: they are not used."""
    monkeypatch.setattr(receipts, "_DIGESTS", {1: "0" * 64, 2: "0" * 64})
    for form in (1, 2):
        with pytest.raises(DamageError, match="reinstall"):
            receipts._dictionary.__wrapped__(form)


def test_the_form_is_fixed() -> None:
    """A receipt that was packed when the form was fixed is read today."""
    assert unpack_receipt(bytes.fromhex(FORM_1)) == '{"items":[["question","question",3,true,"asked",true,false]]}'
    assert unpack_receipt(bytes.fromhex(FORM_2), lambda _: {7: DIGEST}) == VARIED


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
