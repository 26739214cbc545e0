from __future__ import annotations

import pytest

from chalicelib.template_language import merge_data, reserved_keys

ADDRESS = {"email": "ann@example.test", "name": "Ann", "header_to": "x"}


@pytest.mark.spec("2.1-t7")
@pytest.mark.spec("2.1-t8")
def test_recipient_wins_over_transmission_and_data_over_metadata() -> None:
    merged = merge_data(
        transmission_metadata={"a": 1, "b": 1, "c": 1, "d": 1},
        transmission_data={"b": 2, "c": 2, "d": 2},
        recipient_metadata={"c": 3, "d": 3},
        recipient_data={"d": 4},
        address=ADDRESS,
    )
    assert [merged[key] for key in "abcd"] == [1, 2, 3, 4]


def test_objects_are_replaced_whole() -> None:
    merged = merge_data(transmission_data={"u": {"a": 1}}, recipient_data={"u": {"b": 2}})
    assert merged == {"u": {"b": 2}}


def test_the_automatic_variables_come_from_recipient_and_envelope() -> None:
    merged = merge_data(address=ADDRESS, env_from="b@example.test", return_path="r@example.test")
    assert merged == {
        "address": {"name": "Ann", "email": "ann@example.test"},
        "email": "ann@example.test",
        "email_id": "ann@example.test",
        "env_from": "b@example.test",
        "return_path": "r@example.test",
    }


def test_reserved_keys_of_the_data_are_left_out() -> None:
    data = {"email": "evil", "address": "evil", "return_path": "evil", "end": 1, "n": 2}
    merged = merge_data(recipient_data=data, address={"email": "a@e.com"})
    assert merged["email"] == "a@e.com"
    assert merged["address"] == {"name": None, "email": "a@e.com"}
    assert merged["return_path"] is None
    assert "end" not in merged
    assert merged["n"] == 2


def test_a_preview_without_a_recipient_may_set_the_reserved_keys() -> None:
    assert merge_data(transmission_data={"email": "shown"}) == {"email": "shown"}


def test_sources_are_not_changed() -> None:
    data = {"email": "x", "n": {"k": 1}}
    merge_data(transmission_data=data, address=ADDRESS)
    assert data == {"email": "x", "n": {"k": 1}}


def test_reserved_keys_are_listed() -> None:
    assert reserved_keys({"n": 1, "while": 1, "email_id": 1, "each": 1, "user": {"end": 1}}) == [
        "each",
        "email_id",
        "while",
    ]
