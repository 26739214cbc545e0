from __future__ import annotations

import pytest

from chalicelib.core import ids, message_keys

EARLIER = "217344600000123456"


def test_each_hundred_recipients_of_a_transmission_have_a_partition_of_their_own() -> None:
    transmission = ids.transmission_id()
    partitions = [message_keys.block_partition(transmission, block) for block in range(500)]
    assert len(set(partitions)) == 500
    assert {message_keys.transmission_of(each) for each in partitions} == {transmission}


def test_a_small_transmission_has_one_partition() -> None:
    transmission = ids.transmission_id()
    own = message_keys.transmission_partition(transmission)
    assert message_keys.block_partition(transmission, 0) == own


@pytest.mark.parametrize("block", [0, 1, 99_999])
def test_what_was_stored_before_data_was_spread_is_in_one_partition(block: int) -> None:
    assert message_keys.block_partition(EARLIER, block) == f"transmission#{EARLIER}"
