"""Complete the fields of a queue's message once.

Repairs (MiniStack 1.5.33): whenever somebody receives, MiniStack completes the fields of all
messages of the queue, for services that put messages there without some of them. A receiver of a
queue with ten thousand messages, all complete, waits for more than 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable

from ministack.services import sqs

from chalicelib.core.json_types import Json

_LAST_FIELD = "seq"


def install() -> None:
    """Pass over messages that are complete."""
    sqs._ensure_msg_fields = _unless_complete(sqs._ensure_msg_fields)


def _unless_complete(complete: Callable[[Json], None]) -> Callable[[Json], None]:
    def complete_if_necessary(message: Json) -> None:
        if _LAST_FIELD not in message:
            complete(message)

    return complete_if_necessary
