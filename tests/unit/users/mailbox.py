"""Keep the mail that the service itself sends to users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from chalicelib.core import system_mailer
from chalicelib.core.errors import ApiError


@dataclass
class Mailbox:
    """The mails, as ``(address, text)``; with ``refuses`` no mail can be sent."""

    mails: list[tuple[str, str]] = field(default_factory=list)
    refuses: bool = False

    def send(self, *, to: str, subject: str, text: str) -> None:
        if self.refuses:
            raise ApiError(400, "refused")
        self.mails.append((to, text))

    def token(self, purpose: str = "invitation") -> str:
        """The token in the link of the last mail."""
        (link,) = [line for line in self.mails[-1][1].splitlines() if "#" in line]
        assert link.startswith("http://localhost:8080/console/#"), link
        return link.partition(f"#{purpose}=")[2]


@contextmanager
def open_mailbox() -> Iterator[Mailbox]:
    """Let the service send its mail to a mailbox."""
    former, mailbox = list(system_mailer._mailers), Mailbox()
    system_mailer.set_mailer(mailbox.send)
    try:
        yield mailbox
    finally:
        system_mailer._mailers[:] = former
