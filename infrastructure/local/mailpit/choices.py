"""Read what the user chose about the port of Mailpit's API.

====================== ======= =====================================================================
MAILPIT_ROOT                   a path such as ``/mail``, below which the port serves everything
MAILPIT_ORIGINS                web pages that may use the port besides its own: hosts with their
                               ports, comma-separated, or ``*`` for all
MAILPIT_LABEL                  a name of this instance, which the API tells
MAILPIT_METRICS        false   whether ``GET /metrics`` tells Prometheus figures of the mailbox
MAILPIT_PASSWORDS              a file with logins, one of which the port then asks for: lines of
                               ``htpasswd``, or ``name:password``
MAILPIT_SEND_PASSWORDS         the same for ``POST /api/v1/send`` alone; ``any``: it needs no login
====================== ======= =====================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from infrastructure.local.choice_values import flag
from infrastructure.local.passwords import Passwords

ALL = "*"
#: The value of MAILPIT_SEND_PASSWORDS with which nobody needs a login
ANYBODY = "any"

_ROOT = re.compile(r"[0-9A-Za-z/\-_.@]*", re.ASCII)
_MOST_LABEL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class MailpitChoices:
    """The choices; ``root`` begins with a slash and ends with none, or is empty."""

    root: str = ""
    origins: frozenset[str] = frozenset()
    label: str = ""
    metrics: bool = False
    passwords: Passwords | None = None
    send_passwords: Passwords | None = None
    anybody_sends: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> MailpitChoices:
        """Return the choices of an environment; raises ValueError with one line for the user."""
        hosts = environ.get("MAILPIT_ORIGINS", "").replace(",", " ").split()
        anybody_sends = environ.get("MAILPIT_SEND_PASSWORDS") == ANYBODY
        return cls(
            root=_root(environ.get("MAILPIT_ROOT", "")),
            origins=frozenset(map(_host, hosts)),
            label=" ".join(environ.get("MAILPIT_LABEL", "").split())[:_MOST_LABEL_CHARACTERS],
            metrics=flag(environ, "MAILPIT_METRICS"),
            passwords=Passwords.of_setting(environ, "MAILPIT_PASSWORDS"),
            send_passwords=(
                None if anybody_sends else Passwords.of_setting(environ, "MAILPIT_SEND_PASSWORDS")
            ),
            anybody_sends=anybody_sends,
        )

    def admits(self, origin: str) -> bool:
        """Tell whether pages of an origin of others may use the port."""
        return ALL in self.origins or urlsplit(origin).netloc.lower() in self.origins


def _root(text: str) -> str:
    pieces = [piece for piece in text.split("/") if piece]
    if not _ROOT.fullmatch(text) or any(piece in (".", "..") for piece in pieces):
        raise ValueError(f"MAILPIT_ROOT={text!r} is no path such as /mail")
    return "".join(f"/{piece}" for piece in pieces)


def _host(text: str) -> str:
    if text == ALL:
        return text
    url = urlsplit(text if text.startswith(("http://", "https://")) else f"http://{text}")
    if not url.hostname or ALL in text:
        raise ValueError(f"MAILPIT_ORIGINS: {text!r} is no host")
    return url.netloc.lower()
