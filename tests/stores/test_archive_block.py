"""Blocks: nothing is lost, and nothing wrong ever comes out."""

import random
import zlib
from dataclasses import fields
from hashlib import blake2b
from threading import Thread

import pytest
import zstandard
from archive_samples import MOMENT, a_talk, message_lists, messages
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.errors import DamageError, RicordoError
from ricordo.records.turns import Message
from ricordo.stores.archive.block import MAX_PLAIN_BYTES, DamagedBlock, encode, inspect, pack, unpack
from ricordo.stores.archive.codec import LARGE, codec_for, offered_codecs

HEADER_BYTES = 23


@given(message_lists)
def test_unpacking_is_the_inverse_of_packing(given_messages: list[Message]) -> None:
    """Whatever was packed comes back equal, in order: any Unicode, any metadata, any moment."""
    assert unpack(pack(given_messages)) == tuple(given_messages)


@given(messages)
def test_every_field_of_a_message_is_kept(message: Message) -> None:
    """No field of a message is forgotten by the archive, also one that is added later."""
    (restored,) = unpack(pack([message]))
    for field in fields(Message):
        assert getattr(restored, field.name) == getattr(message, field.name), field.name
        assert type(getattr(restored, field.name)) is type(getattr(message, field.name)), field.name


@given(message_lists)
def test_the_same_messages_make_the_same_block(given_messages: list[Message]) -> None:
    """Packing has no clock and no chance in it."""
    assert pack(given_messages) == pack(given_messages)


@given(message_lists)
def test_a_dictionary_never_does_harm(given_messages: list[Message]) -> None:
    """A block is never larger than without a dictionary, nor than the plain bytes and a header."""
    plain = encode(given_messages)
    size = len(pack(given_messages)) - HEADER_BYTES
    assert size <= len(codec_for(1, 0).compress(plain))
    assert size <= len(plain)


@given(message_lists)
def test_a_header_tells_what_is_inside(given_messages: list[Message]) -> None:
    """Count and sizes can be read without decompressing."""
    block = pack(given_messages)
    info = inspect(block)
    assert info.message_count == len(given_messages)
    assert info.plain_bytes == len(encode(given_messages))
    assert info.block_bytes == len(block)


@given(message_lists, st.data())
def test_a_damaged_block_never_gives_another_text(given_messages: list[Message], data: st.DataObject) -> None:
    """Whatever happens to the bytes (changed, cut, longer), out comes the truth or an error, never a third thing."""
    block = bytearray(pack(given_messages))
    for _ in range(data.draw(st.integers(min_value=1, max_value=3))):
        place = data.draw(st.integers(min_value=0, max_value=len(block) - 1))
        block[place] = data.draw(st.integers(min_value=0, max_value=255))
    kind = data.draw(st.sampled_from(["changed", "cut", "longer"]))
    if kind == "cut":
        block = block[: data.draw(st.integers(min_value=0, max_value=len(block) - 1))]
    if kind == "longer":
        block += data.draw(st.binary(min_size=1, max_size=8))
    assert _found(bytes(block)) in (tuple(given_messages), "b-1")


def _found(block: bytes) -> tuple[Message, ...] | str:
    """What is in the block, or the name under which it was reported as damaged."""
    try:
        return unpack(block, "b-1")
    except DamagedBlock as damage:
        return damage.block_id


@given(st.binary(max_size=300))
def test_foreign_bytes_are_refused(noise: bytes) -> None:
    """Bytes that never were a block raise the one error that names the block."""
    with pytest.raises(DamagedBlock):
        unpack(noise, "noise")


@pytest.mark.parametrize("size", [0, 1, 9, 20])
def test_every_single_byte_matters_or_is_harmless(size: int) -> None:
    """Every byte of a block, changed to every neighbour by one bit, is found out or changes nothing."""
    talk = a_talk(size)
    block = pack(talk)
    for place in range(len(block)):
        for bit in range(8):
            damaged = bytearray(block)
            damaged[place] ^= 1 << bit
            assert _found(bytes(damaged)) in (tuple(talk), "b-1")


def test_every_cut_is_found() -> None:
    """A block cut anywhere is damaged."""
    block = pack(a_talk(9))
    for size in range(len(block)):
        with pytest.raises(DamagedBlock):
            unpack(block[:size])


def test_a_damaged_block_is_named_with_its_reason_and_remedy() -> None:
    """The error names the block, says what is wrong and what to do, and is caught as damage or as any of ours."""
    block = pack(a_talk(3))
    with pytest.raises(DamagedBlock, match=r"archive block b-7: .*checksum.*verify.*backup") as caught:
        unpack(block[:15] + bytes([block[15] ^ 1]) + block[16:], "b-7")
    assert isinstance(caught.value, DamageError)
    assert isinstance(caught.value, RicordoError)


def test_a_bomb_is_not_opened() -> None:
    """A payload that would grow beyond the declared size is refused before it does."""
    bomb = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(
            3, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_content_size=False
        )
    ).compress(bytes(50_000_000))
    assert len(bomb) < 10_000
    summed = b"RIB" + bytes([1, 1, 0, 0]) + (1).to_bytes(4, "little") + (100).to_bytes(4, "little")
    with pytest.raises(DamagedBlock, match=r"decompress|declared"):
        unpack(summed + bytes(8) + bomb, "bomb")


def test_a_header_that_declares_too_much_is_not_believed() -> None:
    """A plain size above the limit is refused without allocating it."""
    summed = b"RIB" + bytes([1, 1, 0, 0]) + (1).to_bytes(4, "little")
    with pytest.raises(DamagedBlock, match="more than any block"):
        unpack(summed + (MAX_PLAIN_BYTES + 1).to_bytes(4, "little") + bytes(20), "big")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [(0, ord("X"), "begin"), (3, 9, "format version 9"), (4, 7, "codec 7"), (5, 99, "dictionary 99")],
)
def test_what_a_later_version_wrote_is_named(place: int, value: int, reason: str) -> None:
    """An unknown magic, version, codec or dictionary is said to be unknown, not guessed at."""
    block = bytearray(pack(a_talk(4)))
    block[place] = value
    with pytest.raises(DamagedBlock, match=reason):
        unpack(bytes(block))


def test_a_block_with_a_right_checksum_and_a_wrong_layout_is_damage_too() -> None:
    """Bytes that were never messages are refused even if somebody sealed them."""
    plain = b"\x09nonsense"
    summed = b"RIB" + bytes([1, 0, 0, 0]) + (1).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
    sealed = summed + blake2b(summed + plain, digest_size=8).digest() + plain
    with pytest.raises(DamagedBlock, match="layout"):
        unpack(sealed)


def test_the_bytes_of_a_block() -> None:
    """The format, to the byte: what is on disk today must be readable for ever."""
    block = pack([Message("m", "user", "ciao", MOMENT, 2)])
    assert block[:3] == b"RIB"
    assert block[3] == 1
    assert block[4] in (0, 1)
    assert int.from_bytes(block[7:11], "little") == 1
    assert int.from_bytes(block[11:15], "little") == len(encode([Message("m", "user", "ciao", MOMENT, 2)]))


def test_blocks_of_the_first_release_are_still_read() -> None:
    """A block written when the format was fixed gives the same message today, dictionary included."""
    first = bytes.fromhex(
        "5249420101020002000000c50000008a07c00f0eb8cbcc0000a50200a4020001505022248098f3b1e8f48c068097c81d"
        "017b1f8a526d0e4c7a9c1e0006004d303a6f6c6d69692e3110fc03f3997cdb50c4459fb6bb90eb7451e3888c69ae79f0"
        "f16e20639c0f851cabd538bbf814607e"
    )
    assert unpack(first) == tuple(a_talk(2))


def test_text_that_does_not_shrink_is_stored() -> None:
    """Random letters are kept as they are: a block is never larger than its text and a header."""
    chance = random.Random(1)
    noise = "".join(chr(chance.randrange(0x4E00, 0x9F00)) for _ in range(400))
    block = pack([Message("m", "user", noise, MOMENT)])
    assert inspect(block).codec in (0, 1)
    assert len(block) <= len(encode([Message("m", "user", noise, MOMENT)])) + HEADER_BYTES
    assert unpack(block)[0].content == noise


def test_ordinary_talk_uses_a_dictionary_and_beats_gzip() -> None:
    """A block of everyday Italian is smaller than zlib makes the same bytes."""
    talk = [
        Message(str(n), "user", text, MOMENT)
        for n, text in enumerate(
            [
                "Ciao, come stai? Che cosa fai questo fine settimana?",
                "Pensavo di andare al mare con mia sorella, e tu?",
                "Non lo so ancora, forse resto a casa a studiare per l'esame.",
                "Mi dispiace, allora ci sentiamo la settimana prossima!",
            ]
        )
    ]
    block = pack(talk)
    assert inspect(block).dictionary > 0
    assert len(block) < len(zlib.compress(encode(talk), 9))


@settings(max_examples=5)
@given(st.integers(min_value=1, max_value=10**6))
def test_a_large_block_is_still_lossless(seed: int) -> None:
    """Above the size where time matters more than ratio, blocks take the faster way and lose nothing."""
    chance = random.Random(seed)
    words = [f"parola{chance.randrange(5000)}" for _ in range(LARGE // 6)]
    talk = [Message("m", "assistant", " ".join(words), MOMENT)]
    assert len(offered_codecs(len(encode(talk)))) == 2
    assert unpack(pack(talk)) == tuple(talk)


def test_threads_may_pack_and_unpack_at_once() -> None:
    """Blocks may be made and read by many threads: each has its own compressor."""
    talk = a_talk(20)
    block = pack(talk)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(20):
            if pack(talk) != block or unpack(block) != tuple(talk):
                wrong.append(1)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
