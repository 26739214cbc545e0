from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.suppression.request import MOST_IN_BULK, read_bulk, read_entries, read_removal


def refusal(error_info: pytest.ExceptionInfo[ApiError]) -> str:
    assert error_info.value.status == 400
    (error,) = error_info.value.errors
    assert "code" not in error
    return str(error["message"])


def bulk(*recipients: Any) -> dict[str, Any]:
    return {"recipients": list(recipients)}


@pytest.mark.spec("4.8-t1")
def test_a_bulk_load_holds_entries_with_type_description_and_list_id() -> None:
    entries = read_bulk(
        bulk(
            {"recipient": "Ann@X.test", "type": "transactional", "description": "why"},
            {"recipient": "bob@x.test", "type": "non_transactional", "list_id": "News"},
        )
    )
    assert [(e.recipient, e.type, e.description, e.list_id) for e in entries] == [
        ("ann@x.test", "transactional", "why", ""),
        ("bob@x.test", "non_transactional", None, "News"),
    ]
    assert {e.source for e in entries} == {"Manually Added"}


@pytest.mark.spec("4.8-t1")
def test_malformed_entries_are_named_all_at_once() -> None:
    with pytest.raises(ApiError) as error_info:
        read_bulk(
            bulk(
                {"recipient": "good@x.test", "type": "transactional"},
                {"recipient": "no address", "type": "transactional"},
                {"recipient": "no-type@x.test"},
                {"recipient": "bad-type@x.test", "type": "sms"},
                {"recipient": "bad-list@x.test", "type": "transactional", "list_id": ".a"},
                {"recipient": "clash@x.test", "type": "open_tracking", "list_id": "a"},
                {"recipient": "number@x.test", "type": "transactional", "description": 5},
                {"recipient": 5, "type": "transactional"},
                {"type": "transactional"},
                "text",
                None,
            )
        )
    assert refusal(error_info) == (
        "PUT body contains 10 invalid or malformed recipient(s): no address, no-type@x.test, "
        "bad-type@x.test, bad-list@x.test, clash@x.test, number@x.test, 5, #9, text, #11"
    )
    assert "Must supply a suppression type" in error_info.value.errors[0]["description"]


@pytest.mark.spec("4.8-t1")
def test_many_malformed_entries_are_all_named() -> None:
    names = [f"bad {n}" for n in range(5000)]
    with pytest.raises(ApiError) as error_info:
        read_bulk(bulk(*({"recipient": name} for name in names)))
    prefix = "PUT body contains 5000 invalid or malformed recipient(s): "
    assert refusal(error_info) == prefix + ", ".join(names)


@pytest.mark.usefixtures("cloud")
def test_malformed_entries_are_named_as_far_as_a_reply_has_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAX_REPLY_BYTES", "10000")
    settings.cache_clear()
    many = [{"recipient": f'"bad" {n}' + "x" * 1000} for n in range(5000)]
    with pytest.raises(ApiError) as error_info:
        read_bulk(bulk(*many))
    text = refusal(error_info)
    prefix, *names, more = text.split(", ")
    assert prefix.startswith('PUT body contains 5000 invalid or malformed recipient(s): "bad" 0xx')
    assert more == f"and {5000 - 1 - len(names)} more"
    assert 9000 < len(json.dumps(json.dumps(text))) < 11_000


@pytest.mark.spec("8-t10")
def test_a_bulk_load_has_at_most_ten_thousand_entries() -> None:
    one = {"recipient": "a@x.test", "type": "transactional"}
    assert len(read_bulk(bulk(*[one] * MOST_IN_BULK))) == MOST_IN_BULK == 10_000
    with pytest.raises(ApiError) as error_info:
        read_bulk(bulk(*[one] * (MOST_IN_BULK + 1)))
    assert "at most 10000 entries" in refusal(error_info)


@pytest.mark.parametrize("body", [None, [], {}, {"recipients": {}}, {"recipients": []}, "x"])
def test_a_bulk_load_without_recipients_is_refused(body: Any) -> None:
    with pytest.raises(ApiError) as error_info:
        read_bulk(body)
    assert "recipients must be an array" in refusal(error_info)


@pytest.mark.spec("4.8-t2")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Must supply a suppression type"),
        ({"type": ""}, "Must supply a suppression type"),
        ({"type": None}, "Must supply a suppression type"),
        ({"transactional": False}, "Must supply a suppression type"),
        ({"type": "sms"}, "Type must be one of: 'transactional', 'non_transactional', 'open_track"),
        ({"type": {"a": 1}}, "Type must be one of"),
        ({"type": "open_tracking", "list_id": "a"}, "list_id is not allowed"),
        ([], "must be an object"),
    ],
)
def test_a_single_entry_needs_a_type_that_goes_with_its_list_id(body: Any, text: str) -> None:
    with pytest.raises(ApiError) as error_info:
        read_entries("a@x.test", body)
    assert text in refusal(error_info)


@pytest.mark.spec("9-r2")
@pytest.mark.parametrize(
    ("flags", "types"),
    [
        ({"transactional": True}, ["transactional"]),
        ({"non_transactional": True, "transactional": False}, ["non_transactional"]),
        (
            {"non_transactional": True, "transactional": True},
            ["transactional", "non_transactional"],
        ),
        ({"type": "open_tracking", "transactional": True}, ["open_tracking"]),
    ],
)
def test_the_deprecated_flags_count_where_there_is_no_type(
    flags: dict[str, Any], types: list[str]
) -> None:
    assert [each.type for each in read_entries("a@x.test", flags)] == types


@pytest.mark.spec("4.8-r4")
def test_a_removal_without_a_type_removes_both_types_that_hold_messages_back() -> None:
    assert read_removal(None) == ("transactional", "non_transactional")
    assert read_removal({}) == ("transactional", "non_transactional")
    assert read_removal({"type": "open_tracking"}) == ("open_tracking",)
    for body in ([], "x", {"type": "sms"}, {"type": 1}):
        with pytest.raises(ApiError):
            read_removal(body)
