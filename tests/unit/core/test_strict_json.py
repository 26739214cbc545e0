from __future__ import annotations

import contextlib
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import strict_json
from chalicelib.core.errors import ServiceError
from chalicelib.core.strict_json import MAX_DEPTH, loads

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**31), 2**31 - 1)
    | st.floats(-(2.0**31), 2.0**31 - 1, allow_nan=False)
    | _text
)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4)
)


def _refusal(raw: bytes) -> tuple[int, str]:
    with pytest.raises(ServiceError) as error_info:
        loads(raw)
    return error_info.value.status, error_info.value.errors[0]["code"]


_pieces = st.sampled_from('[]{},: "1') | st.sampled_from(
    [
        '"a"',
        '"a":',
        r'"\"\\"',
        r'"\\":',
        r'"\n\\\""',
        '"é"',
        "1e9",
        "1e10",
        "-0",
        "0.1",
        "99999999999",
        "2147483647.5",
        "NaN",
        "null",
        "\t",
        "\x01",
        "'",
        "\\",
        r'"\ud83d\ude00"',
        r'"\ud83d"',
    ]
)
_scalar_texts = st.sampled_from(
    ["1", "0.5", "99999999999", "1e10", "-0.0", "true", "null", '"a"', r'"\""', r'"\\"', '"[{"']
)
_keys = st.sampled_from(['"a"', '"b"', r'"\u0061"', r'"\\"', r'"\""', '""'])
#: JSON with equal keys, escapes and numbers beyond the range
_texts = st.recursive(
    _scalar_texts,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{' , '.join(each)}]")
        | st.lists(st.tuples(_keys, inner).map(" : ".join), max_size=3).map(
            lambda each: f"{{{','.join(each)}}}"
        )
    ),
)


def _outcome(raw: bytes) -> Any:
    """Return the value with the kinds of its numbers and the order of its keys, or the refusal."""
    try:
        return repr(loads(raw))
    except ServiceError as refusal:
        return refusal.status, refusal.errors


def _strict_outcome(raw: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "from_json", lambda *_, **__: int("no number"))
        return _outcome(raw)


@settings(max_examples=400)
@given(
    st.lists(_pieces, max_size=12).map("".join).map(str.encode)
    | _texts.map(str.encode)
    | _values.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=20)
)
def test_both_parsers_agree_on_values_and_on_refusals(raw: bytes) -> None:
    assert _outcome(raw) == _strict_outcome(raw)


@pytest.mark.parametrize("inner", ["", "0", '"x"', "{}", "[]"])
@pytest.mark.parametrize("levels", [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 190, 300, 990])
def test_both_parsers_agree_on_the_depth(levels: int, inner: str) -> None:
    arrays = "[" * levels + inner + "]" * levels
    objects = '{"b":1,"a":' * levels + (inner or "1") + "}" * levels
    for text in (arrays, objects, f"[{arrays},{objects}]"):
        assert _outcome(text.encode()) == _strict_outcome(text.encode())


@pytest.mark.parametrize("digits", [9, 11, 17, 19, 25])
def test_both_parsers_agree_on_fractions(digits: int) -> None:
    numbers = random.Random(digits)
    for _ in range(300):
        text = f"{numbers.randrange(10**9)}.{numbers.randrange(10**digits):0{digits}}"
        text += numbers.choice(["", "", f"e-{numbers.randrange(330)}"])
        assert _outcome(text.encode()) == _strict_outcome(text.encode())


def test_the_strict_parser_reads_only_what_may_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "_parse_strictly", lambda _: 1 / 0)
    value = {"a": [{"b": 'x"\\[{é', "c": [1, 2.5, None, True]}] * 1000, "d": {"e": "\\"}}
    assert loads(json.dumps(value).encode()) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


@settings(max_examples=100)
@given(_values, st.booleans())
def test_values_written_as_json_are_read_back(value: Any, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@settings(max_examples=200)
@given(st.binary(max_size=40) | st.text('[]{}":,\\u0dD8e+-.19 ntrf', max_size=40).map(str.encode))
def test_any_bytes_give_a_value_or_a_refusal(raw: bytes) -> None:
    with contextlib.suppress(ServiceError):
        assert json.dumps(loads(raw), ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize("raw", [b"\xff", b'"\xed\xa0\x80"', '"ä"'.encode("latin-1")])
def test_bytes_that_are_not_utf8_are_refused_with_their_own_code(raw: bytes) -> None:
    assert _refusal(raw) == (400, "1305")


def test_a_byte_order_mark_is_tolerated() -> None:
    assert loads(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    "raw", [b"", b" ", b"{", b"{'a':1}", b"[1,]", b"01", b"+1", b"1 2", b'"\x01"', b"\x00", b"nul"]
)
def test_malformed_bodies_are_refused(raw: bytes) -> None:
    assert _refusal(raw) == (422, "1300")


@pytest.mark.parametrize("raw", [b"NaN", b"Infinity", b"-Infinity", b'{"a":[NaN]}'])
def test_nan_and_infinity_are_refused(raw: bytes) -> None:
    assert _refusal(raw) == (422, "1300")


@pytest.mark.spec("1-r6")
@pytest.mark.spec("8-t16")
@pytest.mark.parametrize("number", ["2147483647", "-2147483648", "2147483647.0", "0", "-0", "1e9"])
def test_a_number_within_32_bits_is_accepted(number: str) -> None:
    assert loads(number.encode()) == float(number)


@pytest.mark.spec("1-r6")
@pytest.mark.spec("8-t16")
@pytest.mark.parametrize(
    "number",
    ["2147483648", "-2147483649", "2147483647.5", "1e10", "-1e400", "1e9999999999", "9" * 100_000],
)
def test_a_number_beyond_32_bits_is_refused_wherever_it_stands(number: str) -> None:
    assert _refusal(f'{{"a":[{number}]}}'.encode()) == (422, "1300")


def test_the_error_of_a_number_shows_at_most_its_beginning() -> None:
    with pytest.raises(ServiceError) as error_info:
        loads(b"9" * 1000)
    assert 24 < len(error_info.value.errors[0]["description"]) < 120


def test_integers_and_fractions_keep_their_kind() -> None:
    assert [type(number) for number in loads(b"[1, 1.0, 1e0]")] == [int, float, float]
    assert math.isclose(loads(b"0." + b"3" * 100_000), 1 / 3)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_has_a_limit(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"

    def nested(levels: int) -> bytes:
        return opening * levels + b"0" + closing * levels

    assert loads(nested(MAX_DEPTH)) is not None
    assert _refusal(nested(MAX_DEPTH + 1)) == (422, "1300")
    assert _refusal(opening * 200_000) == (422, "1300")


def test_many_brackets_beside_each_other_or_in_a_text_are_not_nesting() -> None:
    assert loads(b"[" + b",".join([b"[]"] * 500) + b"]") == [[]] * 500
    assert loads(json.dumps("[{" * 500).encode()) == "[{" * 500


@pytest.mark.parametrize(
    "raw", [rb'"\ud800"', rb'"\uDC00"', rb'{"\ud83d":1}', rb'"\\\ud83d"', rb'"\ud83d\ud83d\ude00"']
)
def test_half_a_surrogate_pair_is_refused(raw: bytes) -> None:
    assert _refusal(raw) == (422, "1300")


def test_whole_surrogate_pairs_and_escaped_backslashes_are_accepted() -> None:
    assert loads(rb'["\ud83d\ude00", "\\ud800"]') == ["\U0001f600", r"\ud800"]


def test_the_last_of_equal_keys_counts() -> None:
    assert loads(b'{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}
