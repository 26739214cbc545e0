"""Define the outcome of a delivery attempt: `Delivered`, `Retry` or `Failed`.

`Retry` means that the message is tried again until it expires, `Failed` that it never is. Each
outcome holds the SMTP reply that decided:

- `code`: the three-digit reply code (RFC 5321 4.2) as a number.
- `reply`: the text after that code, the enhanced status code (RFC 3463) included; the lines of a
  multi-line reply joined by spaces, control characters removed, at most `REPLY_LIMIT` characters.
- `ip_address`: the remote host that answered, None when no host was reached.
- `tls`: the protocol version of the encrypted connection, such as `TLSv1.3`; None in the clear.
- `sending_ip`: the local address of the connection, None when there was none. It does not count
  when outcomes are compared.
- `tls_policy`: the policy of the recipient's domain that the host was authenticated by, `dane` or
  `mta-sts`; None where it was not.

Not every failure has a remote reply. A failure that this side finds has the code and the enhanced
status that the RFCs give it, and `[internal]` before its text:

    421  class 24  Retry   a time-out, in connecting or in waiting
    421  class 20  Retry   the connection was refused, broke, or carried something that is not SMTP
    454  class 20  Retry   TLS (or a way to log in) is required and not offered
    454  class 20  Retry   the hosts or their certificates break the domain's MTA-STS policy, or do
                           not match their TLSA records
    451  class 21  Retry   it is unknown whether the hosts have TLSA records
    451  class 70  Retry   no connection became free in time, or a fault of this service ended
                           the attempt, or the IP pool has no sending IP
    451  class 21  Retry   the DNS did not answer
    454  class 21  Retry   the domain has no mail host
    550  class 21  Failed  the domain does not exist, or has no public address
    556  class 10  Failed  the domain says that it takes no mail (RFC 7505)
    553  class 10  Failed  the address cannot be used
    553  class 40  Failed  the address has letters that the host does not take
    554  class 40  Failed  the header or the content has letters that the host does not take
    552  class 23  Failed  the message is larger than the host accepts
    554  class 24  Failed  the message has expired
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, NotRequired, cast

from chalicelib.core.typed_dicts import TypedDict

REPLY_LIMIT = 1_000
"""Longest reply text that an outcome holds, in characters."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")


def clean_reply(text: str) -> str:
    """Return `text` on one line, without control characters, cut to `REPLY_LIMIT` characters."""
    text = text[: 2 * REPLY_LIMIT]
    if not text.isprintable():
        text = _CONTROLS.sub("", _SPACES.sub(" ", text))
    return text[:REPLY_LIMIT].strip()


def internal(status: str, text: str) -> str:
    """Return the reply text of a failure that this side found, such as `4.4.3 [internal] ...`."""
    return f"{status} [internal] {text}"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The remote host took responsibility for the message (a 2xx reply to its end).

    With ``reports_later`` it is a provider that tells by a notification how delivery ended.
    """

    code: int
    reply: str
    ip_address: str | None = None
    tls: str | None = None
    sending_ip: str | None = field(default=None, compare=False)
    tls_policy: str | None = None
    reports_later: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "reply", clean_reply(self.reply))


@dataclass(frozen=True, slots=True)
class Retry:
    """Not delivered, for a temporary reason (a 4xx reply, or no usable reply)."""

    code: int
    reply: str
    bounce_class: int
    ip_address: str | None = None
    tls: str | None = None
    sending_ip: str | None = field(default=None, compare=False)
    tls_policy: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reply", clean_reply(self.reply))


@dataclass(frozen=True, slots=True)
class Failed:
    """Not delivered, and not tried again (a 5xx reply, or a permanent fault)."""

    code: int
    reply: str
    bounce_class: int
    ip_address: str | None = None
    tls: str | None = None
    sending_ip: str | None = field(default=None, compare=False)
    tls_policy: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reply", clean_reply(self.reply))


Outcome = Delivered | Retry | Failed


class OutcomeData(TypedDict):
    """An outcome as JSON; ``outcome`` is its kind. Older journals lack the newer fields."""

    outcome: str
    code: int
    reply: str
    bounce_class: NotRequired[int]
    ip_address: NotRequired[str | None]
    tls: NotRequired[str | None]
    sending_ip: NotRequired[str | None]
    tls_policy: NotRequired[str | None]
    reports_later: NotRequired[bool]


_NAMES: dict[type[Any], str] = {Delivered: "delivered", Retry: "retry", Failed: "failed"}
_TYPES: dict[str, type[Any]] = {name: kind for kind, name in _NAMES.items()}
_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in _NAMES}


def to_dict(outcome: Outcome) -> OutcomeData:
    """Return the outcome as JSON data."""
    kind = type(outcome)
    fields = {name: getattr(outcome, name) for name in _FIELDS[kind]}
    if not fields.get("reports_later"):  # as it mostly is
        fields.pop("reports_later", None)
    return cast(OutcomeData, {"outcome": _NAMES[kind], **fields})


def from_dict(data: OutcomeData) -> Outcome:
    """Return the outcome of the data that `to_dict` makes; KeyError or TypeError on other data."""
    values: dict[str, Any] = {**data}
    kind = _TYPES[values.pop("outcome")]
    outcome: Outcome = kind(**values)
    return outcome
