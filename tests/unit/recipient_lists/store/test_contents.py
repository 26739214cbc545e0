from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from chalicelib.core.blobs import BlobMissing
from chalicelib.recipient_lists.store import contents
from chalicelib.recipient_lists.store.contents import ListVersion
from chalicelib.recipient_lists.stored_form import encode
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.recipient_lists.examples import recipients

pytestmark = pytest.mark.usefixtures("cloud")


def write(list_id: str, records: Iterable[dict[str, Any]]) -> ListVersion:
    return contents.write(1, list_id, map(encode, records))


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, []), (1, [1]), (1000, [1000]), (1001, [1000, 1]), (2500, [1000, 1000, 500])],
)
def test_recipients_are_read_in_order_a_thousand_at_a_time(count: int, sizes: list[int]) -> None:
    version = write("friends", recipients(count))
    assert (version.count, version.parts) == (count, len(sizes))
    parts = [list(part) for part in contents.read(version)]
    assert [len(part) for part in parts] == sizes
    assert [each for part in parts for each in part] == list(recipients(count))


@pytest.mark.cost
def test_reading_may_begin_at_any_part_and_fetches_only_the_parts_that_are_used() -> None:
    version = write("friends", recipients(3500))
    with aws_requests() as requests:
        first = next(next(contents.read(version, 2)))
    assert first["email"] == "r2000@example.test"
    assert len(requests) == 1
    assert list(contents.read(version, 4)) == []


def test_any_data_of_a_recipient_is_read_back() -> None:
    recipient = {
        "email": "ü@example.test",
        "substitution_data": {"": [1.5, None, {"𝄞": True}], "deep": {"a": {"b": "\u2028"}}},
    }
    assert [*next(contents.read(write("friends", [recipient])))] == [recipient]


def test_every_version_has_objects_of_its_own() -> None:
    one = write("friends", recipients(2))
    other = write("friends", recipients(3))
    assert one.name != other.name
    contents.remove(one)
    assert [len([*part]) for part in contents.read(other)] == [3]
    with pytest.raises(BlobMissing):
        list(contents.read(one))


def test_removing_a_version_leaves_no_object() -> None:
    version = write("friends", recipients(2500))
    assert len(stored_objects("lists/1/friends/")) == 3
    contents.remove(version)
    assert stored_objects() == []


def test_writing_and_reading_hold_a_few_parts_whatever_the_number() -> None:
    def large(count: int) -> Iterator[dict[str, Any]]:
        for number in range(count):
            yield {"email": f"r{number}@example.test", "substitution_data": {"n": f"{number:0200}"}}

    def peak(count: int) -> int:
        tracemalloc.start()
        version = write(f"of-{count}", large(count))
        assert sum(len([*part]) for part in contents.read(version)) == count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1000)  # the memory that the first use of a client allocates does not count
    assert peak(20_000) < 3 * peak(1000)
