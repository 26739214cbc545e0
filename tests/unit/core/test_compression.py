from __future__ import annotations

import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.compression import compress, decompress


@given(st.binary(max_size=5000))
def test_data_comes_back(data: bytes) -> None:
    assert decompress(compress(data)) == data


@given(st.binary(max_size=5000), st.binary(min_size=8, max_size=200))
def test_data_comes_back_with_its_dictionary(data: bytes, dictionary: bytes) -> None:
    assert decompress(compress(data, dictionary), dictionary) == data


def test_a_dictionary_saves_what_it_has() -> None:
    text = random.Random(1).randbytes(2000)
    assert len(compress(text, text)) < 100 < len(compress(text))


def test_what_an_earlier_version_compressed_can_be_read() -> None:
    assert decompress(zlib.compress(b"a newsletter", 1)) == b"a newsletter"


def test_a_message_is_compressed_by_the_one_before_it() -> None:
    message = random.Random(1).randbytes(40_000)
    assert len(compress(message * 100)) < 1.1 * len(message)
