"""Make a sender with a DKIM key, and its transmissions, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.core.reading import read_config
from chalicelib.dkim.model import DkimKey
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.generation.faults import NotGenerated
from chalicelib.generation.message import Generator
from chalicelib.generation.tracking_decorator import MessageTracking, TrackingDecorator
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions.model import Transmission
from tests.unit.key_pairs import PAIR
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, make_transmission

NAME = "mail.example.test"
INJECTED = CREATED + 5000


def signing(name: str = NAME, selector: str = "s1") -> DkimKey:
    """Return the key of a domain, sealed as it is stored."""
    return sealed_key(PAIR, selector, name)


def make_sender(account: int = 1, **fields: Any) -> None:
    """Store an account and its domain, with a key of its own."""
    make_account(account, **fields)
    assert domains.create(domain(account=account, dkim=signing()))


def generator(
    transmission: Transmission | None = None, *, first_index: int = 0, **fields: Any
) -> Generator:
    """Return a generator for a transmission made at a known time."""
    return Generator(transmission or make_transmission(**fields), INJECTED, first_index)


def no_tracking(transmission: Transmission) -> MessageTracking:
    """Return the tracking of a message without links, pixels and unsubscribe headers."""
    options = {"open_tracking": False, "click_tracking": False, "initial_open": False}
    quiet = replace(transmission, options=transmission.options | options | {"transactional": True})
    decorator = TrackingDecorator(quiet, 0, INJECTED, read_config)
    to = {"email": "r@example.test"}
    return decorator.tracking("0" * 24, to, decorator.tracked(to), domain(), NAME)


def failure(transmission: Generator, recipient: dict[str, Any], index: int = 0) -> dict[str, Any]:
    """Return the event of a recipient without a message."""
    try:
        transmission.generate(index, recipient)
    except NotGenerated as reason:
        return reason.event
    raise AssertionError("a message was generated")
