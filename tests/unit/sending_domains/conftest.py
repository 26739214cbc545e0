from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from chalicelib.core import system_mailer
from chalicelib.core.errors import ApiError
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server whose records the test sets."""
    yield from served_zone(monkeypatch)


@dataclass(frozen=True)
class Mail:
    to: str
    subject: str
    text: str

    @property
    def link(self) -> str:
        """The one link in the text."""
        (link,) = [line for line in self.text.splitlines() if line.startswith("http")]
        return link

    @property
    def token(self) -> str:
        return self.link.rpartition("/")[2]


class Outbox:
    """A mailer that keeps each mail, or refuses it."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.refuses = False

    def send(self, *, to: str, subject: str, text: str) -> None:
        if self.refuses:
            raise ApiError(400, "refused")
        self.mails.append(Mail(to, subject, text))


@pytest.fixture
def outbox(monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """The mails that the service sends."""
    outbox = Outbox()
    monkeypatch.setattr(system_mailer, "_mailers", [])
    system_mailer.set_mailer(outbox.send)
    return outbox
