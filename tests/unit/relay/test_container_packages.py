"""The relay works with the packages of its container, which are fewer than the functions'."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from chalicelib.core import queues
from chalicelib.generation.worker import read_chunk
from relay.backend import SubmittedEnvelope
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor
from tests.fake_cloud import queued_work
from tests.unit.people import make_account, make_domain, make_key

ROOT = Path(__file__).parents[3]
PEER = "192.0.2.1"


def named(requirements: str) -> set[str]:
    lines = (ROOT / requirements).read_text().splitlines()
    return {re.split(r"[=\[]", line)[0].lower() for line in lines if "==" in line}


@pytest.fixture
def container(cloud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an account, and hide all packages that the container does not have."""
    make_account()
    make_domain("xn--bcher-kva.test")
    absent = named("requirements.txt") - named("relay/requirements.txt")
    assert absent
    for module, distributions in packages_distributions().items():
        if absent.intersection(name.lower() for name in distributions):
            monkeypatch.setitem(sys.modules, module, None)


def test_a_message_from_an_international_domain_is_accepted(container: None) -> None:
    identity = ApiKeyAuthenticator().authenticate(make_key().key, None, PEER)
    for sender in ("me@bücher.test", "me@ﬀ.test", "me@example.test"):
        message = "From: me@bücher.test\r\nTo: you@inbox.test\r\n\r\nHello\r\n".encode()
        envelope = SubmittedEnvelope(
            sender, ("you@postfach-für-dich.test",), message, PEER, smtp_utf8=True
        )
        transmission_id = TransmissionAcceptor().accept(identity, envelope)
        (chunk,) = [read_chunk(queues.read(each)) for each in queued_work()]
        assert chunk.transmission.id == transmission_id
        queued_work()
