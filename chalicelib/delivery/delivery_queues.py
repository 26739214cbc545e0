"""Choose the queue of a delivery batch, by who can send its mail.

A function, or the delivery container without a name, consumes ``delivery``. A container with a name
has queues of its own, ``container-<name>``: it sends from the addresses of its host. Where
containers deliver, small sends have queues of their own, so that they do not wait behind bulk mail;
a function delivers a small send when it has generated it.
"""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.core import queues
from chalicelib.core.queues import Received, Work
from chalicelib.core.settings import settings

QUEUE = "delivery"
SMALL = "small-deliveries"
OF_CONTAINERS = "container-"


def queue_of(container: str, *, small: bool) -> str:
    """Return the short name of the queue that ``container`` consumes (empty: without a name)."""
    if container:
        return f"{OF_CONTAINERS}{container}{'-small' if small else ''}"
    return SMALL if small and settings().delivery == "container" else QUEUE


def is_reached_here(container: str) -> bool:
    """Tell whether this process can send by the sending IPs of ``container``."""
    return container == settings().delivery_container


def delivers_at_once(container: str) -> bool:
    """Tell whether a function that generated a small send is to deliver it as well."""
    return not container and settings().delivery == "function"


def send(works: Iterable[Work], container: str = "", *, small: bool = False) -> None:
    """Queue delivery batches for a container, or for who delivers what names none."""
    queues.send(queue_of(container, small=small), works)


def send_again(message: Received, delay: float) -> None:
    """Put a received message back on its queue, to be seen after ``delay`` seconds."""
    small = message.head.get("small", False)
    queues.send_again(queue_of(settings().delivery_container, small=small), message, delay)
