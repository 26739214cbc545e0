"""Receive from a queue without a look at every message that it holds.

Repairs (MiniStack 1.5.33): whenever somebody receives, MiniStack completes the fields of all
messages of the queue, and looks for old ones among all of them. A queue with ten thousand messages
that wait for their time makes each receiver wait for 20 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ministack.services import sqs

Json = dict[str, Any]


def install() -> None:
    """Take the place of the two functions of MiniStack."""
    sqs._collect_msgs = _from_visible(sqs._collect_msgs)
    sqs._expire_retained = _if_first_is_old(sqs._expire_retained)


def _from_visible(collect: Callable[[Json, int, int], list[Json]]) -> Any:
    def collect_from_visible(queue: Json, most: int, seconds: int) -> list[Json]:
        if queue["is_fifo"]:
            return collect(queue, most, seconds)
        now = sqs.time.time()
        visible = (each for each in queue["messages"] if each.get("visible_at", now) <= now)
        return collect({**queue, "messages": list(islice(visible, most))}, most, seconds)

    return collect_from_visible


def _if_first_is_old(expire: Callable[[Json], None]) -> Any:
    def expire_if_first_is_old(queue: Json) -> None:
        before = queue["messages"]
        if before:
            # Messages are in the order in which they came
            first = {**queue, "messages": before[:1]}
            expire(first)
            if not first["messages"]:
                expire(queue)

    return expire_if_first_is_old
