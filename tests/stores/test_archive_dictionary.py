"""The shipped dictionaries."""

import pytest

from ricordo.errors import DamageError
from ricordo.stores.archive import codec
from ricordo.stores.archive.codec import codec_for


def test_every_shipped_dictionary_is_the_one_that_was_released() -> None:
    """Each file matches its hash and is small enough to ship."""
    for number in codec.SHIPPED:
        assert 30_000 < len(codec.dictionary_bytes(number)) < 120_000


def test_every_offered_dictionary_is_shipped() -> None:
    """New blocks are only written with dictionaries that every reader has; 0 is none."""
    assert set(codec.OFFERED) - {0} <= set(codec.SHIPPED)


def test_an_altered_dictionary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes under a released number would read nonsense: they are not used."""
    monkeypatch.setitem(codec.SHIPPED, 1, "0" * 64)
    codec.dictionary_bytes.cache_clear()
    with pytest.raises(DamageError, match="reinstall"):
        codec.dictionary_bytes(1)
    codec.dictionary_bytes.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "I've been thinking about it for a while, and I finally decided to give it a try. What do you think?",
        "Ci ho pensato a lungo e alla fine ho deciso di provare. Che cosa ne pensi? Secondo me è una buona idea.",
    ],
)
def test_a_dictionary_helps_in_both_languages(text: str) -> None:
    """Everyday talk in Italian and English takes under two thirds of what it takes without a dictionary."""
    plain = text.encode()
    without = len(codec_for(1, 0).compress(plain))
    assert min(len(codec_for(1, number).compress(plain)) for number in codec.SHIPPED) < without * 2 / 3
