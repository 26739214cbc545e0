from __future__ import annotations

from email import message_from_string
from email.policy import default

import pytest
from hypothesis import given

from chalicelib.mail_format.parameters import parameter, unquoted
from tests.unit.mail_format.examples import ONE_LINE, examples


@pytest.mark.parametrize(
    ("value", "forms"),
    [
        ("a b.txt", ['filename="a b.txt"']),
        ('a"\\', ['filename="a\\"\\\\"']),
        ("Zoë.txt", ["filename*=utf-8''Zo%C3%AB.txt", 'filename="Zoe.txt"']),
        ("=?.txt", ["filename*=utf-8''%3D%3F.txt", 'filename="__.txt"']),
    ],
)
def test_a_parameter_has_the_forms_that_readers_know(value: str, forms: list[str]) -> None:
    assert parameter("filename", value) == forms


@examples(100)
@given(ONE_LINE.filter(lambda value: value == value.strip()))
def test_a_reader_gets_the_value(value: str) -> None:
    forms = ";\r\n ".join(["attachment", *parameter("filename", value)])
    message = message_from_string(f"Content-Disposition: {forms}\r\n\r\n", policy=default)
    assert message["Content-Disposition"].params.get("filename", "") == value


@pytest.mark.parametrize(
    ("text", "value"), [("a", "a"), ('"a b"', "a b"), ('"a\\"b"', 'a"b'), ('"', '"'), ('""', "")]
)
def test_a_quoted_string_is_its_text(text: str, value: str) -> None:
    assert unquoted(text) == value
