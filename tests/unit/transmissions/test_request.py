from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.transmissions.request import read_request
from tests.unit.transmissions.examples import body, content


def refusal(data: Any) -> list[dict[str, Any]]:
    with pytest.raises(ServiceError) as refused:
        read_request(data)
    assert refused.value.status == 422
    return refused.value.errors


def codes(data: Any) -> list[str]:
    return [error["code"] for error in refusal(data)]


def sized(name: str, size: int, filling: str = "x") -> dict[str, Any]:
    """Return data whose JSON has ``size`` bytes."""
    count, rest = divmod(size - len('{"k":""}'), len(filling.encode()))
    return {name: {"k": filling * count + "x" * rest}}


@pytest.mark.spec("2.1-t1")
@pytest.mark.spec("2.1-t4")
def test_all_fields_of_a_body_are_read() -> None:
    given = body(
        options={"open_tracking": False, "click_tracking": True, "initial_open": False}
        | {"transactional": True, "ip_pool": "fast"},
        campaign_id="spring",
        description="Spring sale",
        metadata={"a": [1]},
        substitution_data={"b": None},
    )
    request = read_request(given)
    assert request.content is not None
    assert request.content.from_ == "a@mail.example.test"
    assert request.options is not None
    assert request.options.model_dump(exclude_none=True) == given["options"]
    assert (request.campaign_id, request.description) == ("spring", "Spring sale")
    assert (request.metadata, request.substitution_data) == ({"a": [1]}, {"b": None})
    assert request.recipients == given["recipients"]


@pytest.mark.spec("1-r5")
def test_unexpected_fields_are_ignored_at_every_level() -> None:
    given = content(colour="red") | {"colour": "red", "options": {"colour": "red"}}
    assert read_request(given).options is not None


@pytest.mark.parametrize("data", [None, 7, "text", [], [body()], True])
def test_a_body_that_is_no_object_is_refused(data: Any) -> None:
    assert codes(data) == ["1300"]


@pytest.mark.spec("2.1-t3")
@pytest.mark.spec("7-t16")
def test_recipients_are_required() -> None:
    (error,) = refusal(body(recipients=None))
    assert error["code"] == "1400"
    assert error["description"] == "recipients or list_id required"


@pytest.mark.spec("7-t16")
def test_content_is_required() -> None:
    (error,) = refusal(body(content=None))
    assert error["code"] == "1400"
    assert error["description"] == "content object or template_id required"


@pytest.mark.spec("2.2-t1")
@pytest.mark.spec("2.2-t2")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (content(**{"from": None}), "content.from is a required field"),
        (content(**{"from": {"name": "Ann"}}), "content.from.email is a required field"),
        (content(subject=None), "content.subject"),
        (content(subject=""), "content.subject"),
    ],
)
def test_from_and_subject_are_required(data: Any, told: str) -> None:
    (error,) = refusal(data)
    assert error["code"] == "1400"
    assert told in error["description"]


@pytest.mark.spec("2.2-t4")
@pytest.mark.spec("2.2-t3")
@pytest.mark.parametrize(
    "fields",
    [
        {"text": None},
        {"text": ""},
        {"text": "", "html": ""},
        {"text": None, "amp_html": "<html amp4email></html>"},
    ],
)
def test_at_least_one_of_html_and_text_is_required(fields: dict[str, Any]) -> None:
    (error,) = refusal(content(**fields))
    assert error["code"] == "1400"
    assert "At least one of 'text' or 'html'" in error["description"]


@pytest.mark.spec("2.2-t5")
def test_amp_html_goes_with_html_or_text() -> None:
    request = read_request(content(amp_html="<html amp4email></html>"))
    assert request.content is not None
    assert request.content.amp_html


@pytest.mark.spec("2.2-t1")
@pytest.mark.parametrize(
    "sender",
    ["a@b.test", "Ann <a@b.test>", {"email": "a@b.test"}, {"email": "a@b.test", "name": ""}],
)
def test_from_is_a_string_or_an_object(sender: Any) -> None:
    assert read_request(content(**{"from": sender})).content is not None


@pytest.mark.parametrize(
    "data",
    [
        content(**{"from": 7}),
        content(**{"from": ["a@b.c"]}),
        content(subject=7),
        content(text=["x"]),
        content(html={}),
        content(headers=[]),
        content(headers={"X-A": 1}),
        content(reply_to={"email": "a@b.c"}),
        body(content="hi"),
        body(recipients="r@example.test"),
        body(options=[]),
        body(options={"open_tracking": "true"}),
        body(options={"click_tracking": 1}),
        body(options={"ip_pool": 1}),
        body(campaign_id=7),
        body(description=[]),
        body(metadata="x"),
        body(metadata=[]),
        body(substitution_data=1),
    ],
)
def test_a_field_of_another_type_is_refused(data: Any) -> None:
    assert codes(data) == ["1300"]


@pytest.mark.spec("8-t5")
@pytest.mark.spec("2.1-t5")
@pytest.mark.spec("2.1-t6")
@pytest.mark.parametrize(("name", "most"), [("campaign_id", 64), ("description", 1024)])
def test_texts_are_limited_in_bytes(name: str, most: int) -> None:
    read_request(body(**{name: "x" * most}))
    read_request(body(**{name: "é" * (most // 2)}))
    assert codes(body(**{name: "x" * (most + 1)})) == ["1300"]
    assert codes(body(**{name: "é" * (most // 2 + 1)})) == ["1300"]


@pytest.mark.spec("8-t5")
@pytest.mark.spec("2.1-t7")
@pytest.mark.spec("2.1-t8")
@pytest.mark.parametrize("filling", ["x", "é", "漢"])
@pytest.mark.parametrize(
    ("name", "most", "code"), [("metadata", 10_240, "2007"), ("substitution_data", 100_000, "2002")]
)
def test_data_is_limited_by_the_bytes_of_its_json(
    name: str, most: int, code: str, filling: str
) -> None:
    data = sized(name, most, filling)
    assert len(json.dumps(data[name], ensure_ascii=False, separators=(",", ":")).encode()) == most
    read_request(body(**data))
    assert codes(body(**sized(name, most + 1, filling))) == [code]


@pytest.mark.spec("2.2-t7")
@pytest.mark.parametrize(
    "name",
    ["Subject", "From", "To", "Reply-To", "Content-Type", "Content-Transfer-Encoding", "sUBJECT"],
)
def test_headers_that_the_service_writes_are_not_allowed(name: str) -> None:
    assert codes(content(headers={name: "x"})) == ["3002"]


@pytest.mark.parametrize("name", ["", "X A", "X:", "X\r\nBcc", "é", "X\x7f", "\ud800"])
def test_a_header_name_of_other_characters_is_refused(name: str) -> None:
    assert codes(content(headers={name: "x"})) == ["3002"]


def test_other_headers_are_taken() -> None:
    headers = {"X-Any!#$%&'*+.^_`|~": "é {{name}}", "CC": "c@example.test"}
    request = read_request(content(headers=headers))
    assert request.content is not None
    assert request.content.headers == headers
