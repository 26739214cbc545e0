"""Spread what the table ``messages`` holds of a transmission over partitions.

A partition takes 1,000 write units a second, and a message takes more than one. So each hundred
recipients of a transmission have a partition of their own. The first hundred are in the
transmission's own partition, where a small one has everything; so are all of a transmission that
version 0.1.0 accepted, which its id says (goes with 0.3.0).
"""

from __future__ import annotations

from typing import Final

from chalicelib.core import ids

#: Recipients that share a partition
BLOCK: Final = 100


def transmission_partition(transmission_id: str) -> str:
    """Return the partition of what concerns a whole transmission."""
    return f"transmission#{transmission_id}"


def block_partition(transmission_id: str, block: int) -> str:
    """Return the partition of a transmission's block, or chunk, with this number."""
    own = transmission_partition(transmission_id)
    return f"{own}#{block}" if block and ids.is_spread(transmission_id) else own


def transmission_of(partition: str) -> str:
    """Return the id of the transmission that a partition belongs to."""
    return partition.split("#")[1]
