"""Choose the queue of a delivery batch, by who can send its mail.

A function, or the delivery container without a name, consumes ``delivery``. A container with a name
has queues of its own, ``container-<name>``: it sends from the addresses of its host. Where
containers deliver, two kinds of mail have queues of their own, so that they do not wait behind bulk
mail: small sends, and units that the limits of a provider hold back. Behind the backlog of others a
unit would miss the slots that it waits for. A function delivers a small send when it has generated
it, and no provider's limits hold back what it delivers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NotRequired

from chalicelib.core import queues
from chalicelib.core.queues import Received, Work
from chalicelib.core.settings import settings
from chalicelib.core.typed_dicts import TypedDict

QUEUE = "delivery"
SMALL = "small-deliveries"
HELD = "held-deliveries"
OF_CONTAINERS = "container-"


class DeliveryHead(TypedDict):
    """The head of a delivery batch's message: its unit, and what can be told without its payload.

    ``injected_ms`` is when the messages were generated. ``generated`` holds two numbers: messages,
    and recipients without one. ``counts_in_usage`` and ``small`` are there where they are true.
    A batch that is held back has the ``paths`` that it waits for, and maybe ``sending_ips``: runs
    of messages with the same IP, as their number and the IP. A message that waits for another
    worker has the end of that worker's ``lease`` and how often it has waited (``waits``).
    """

    transmission: str
    unit: str
    attempt: int
    injected_ms: int
    generated: list[int]
    counts_in_usage: NotRequired[bool]
    small: NotRequired[bool]
    paths: NotRequired[list[str]]
    sending_ips: NotRequired[list[tuple[int, str]]]
    lease: NotRequired[float]
    waits: NotRequired[int]


def name_of(container: str, *, small: bool = False, is_held: bool = False) -> str:
    """Return the short name of a queue that ``container`` consumes (empty: without a name).

    ``small`` sends have one, whether or not they are held back, and other units that are held back
    (``is_held``) have one.
    """
    if container:
        return f"{OF_CONTAINERS}{container}{'-small' if small else '-held' if is_held else ''}"
    if settings().delivery != "container":
        return QUEUE
    return SMALL if small else HELD if is_held else QUEUE


def queue_of(container: str, *, small: bool = False, is_held: bool = False) -> str:
    """Return the short name of the queue for mail that ``container`` delivers.

    Held back mail waits among bulk mail if it has no queue there: those of a named container were
    created with its first sending IP, maybe by a version without that one.
    """
    queue = name_of(container, small=small, is_held=is_held)
    return queue if not is_held or queues.exists(queue) else name_of(container, small=small)


def is_reached_here(container: str) -> bool:
    """Tell whether this process can send by the sending IPs of ``container``."""
    return container == settings().delivery_container


def delivers_at_once(container: str) -> bool:
    """Tell whether a function that generated a small send is to deliver it as well."""
    return not container and settings().delivery == "function"


def send(
    works: Iterable[Work[DeliveryHead]],
    container: str = "",
    *,
    small: bool = False,
    is_held: bool = False,
) -> None:
    """Queue delivery batches for a container, or for who delivers what names none."""
    queues.send(queue_of(container, small=small, is_held=is_held), works)


def send_again(message: Received[DeliveryHead], delay: float, *, is_held: bool = False) -> None:
    """Put a received message back on a queue of this container, to be seen after ``delay`` seconds.

    ``is_held`` says that it waits for the limits of a provider.
    """
    small = message.head.get("small", False)
    container = settings().delivery_container
    queues.send_again(queue_of(container, small=small, is_held=is_held), message, delay)
