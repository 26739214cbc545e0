from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.recipient_lists.request import read_changes, read_new

GOOD = {"recipients": [{"address": "a@b.test"}]}


def codes(data: Any) -> list[str]:
    with pytest.raises(ServiceError) as refusal:
        read_new(data)
    assert refusal.value.status == 422
    return [error["code"] for error in refusal.value.errors]


def test_all_fields_are_read() -> None:
    fields = {"id": "a", "name": "b", "description": "c", "attributes": {"d": [1]}}
    assert read_new(GOOD | fields | {"colour": "red"}).model_dump() == GOOD | fields


def test_recipients_are_required_in_a_new_list_only() -> None:
    assert codes({"id": "a"}) == ["1400"]
    assert codes({"recipients": None}) == ["1400"]
    assert read_changes({"name": "b"}, "a").recipients is None


@pytest.mark.parametrize("name", ["x" * 64, "unique_id_4-graduates.2026"])
def test_an_id_has_letters_digits_and_some_signs(name: str) -> None:
    assert read_new(GOOD | {"id": name}).id == name


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "a/b", "..\u002fx", "a b", "é", "a#b", "rcptlist_1", "a\n", ".", ".."]
)
def test_an_invalid_id_is_refused(name: str) -> None:
    assert codes(GOOD | {"id": name}) == ["1300"]


@pytest.mark.parametrize(
    ("name", "most"), [("name", 64), ("description", 1024), ("attributes", 100_000)]
)
def test_texts_are_limited_in_bytes(name: str, most: int) -> None:
    def text(length: int) -> Any:
        return {"k": "x" * (length - 8)} if name == "attributes" else "é" * (length // 2)

    read_new(GOOD | {name: text(most)})
    assert codes(GOOD | {name: text(most + 2)}) == ["1300"]


def test_a_list_takes_a_hundred_thousand_recipients() -> None:
    read_new({"recipients": [7] * 100_000})
    assert codes({"recipients": [7] * 100_001}) == ["1300"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "x",
        {"recipients": {}},
        {"recipients": "a@b.test"},
        GOOD | {"id": 7},
        GOOD | {"attributes": []},
        GOOD | {"name": ["x"]},
        GOOD | {"description": 1},
    ],
)
def test_a_field_of_another_type_is_refused(data: Any) -> None:
    assert codes(data) == ["1300"]


def test_the_id_in_a_change_is_that_of_the_path() -> None:
    assert read_changes({"id": "a"}, "a").id == "a"
    with pytest.raises(ServiceError) as refusal:
        read_changes({"id": "b"}, "a")
    assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "1300")
