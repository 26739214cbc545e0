"""Send a message by the mail server that `RELEASE_HOST` names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from relay.line_ends import LineEnds

if TYPE_CHECKING:
    import smtplib

CLEAR, TLS, STARTTLS = "smtp", "smtps", "smtp+starttls"
PORTS: Final = {CLEAR: 25, TLS: 465, STARTTLS: 587}
SECONDS: Final = 30.0

_EXAMPLE = "smtp+starttls://user:password@mail.example.com:587"  # pragma: allowlist secret
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f<>]")


class HostFailed(Exception):
    """The server did not take the message; the text says why.

    ``is_final`` tells that it refused this message, and would do so again.
    """

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class RelayHost:
    """A mail server, and how to log in there; without a user name nobody logs in."""

    scheme: str
    host: str
    port: int
    username: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def read(cls, url: str) -> RelayHost:
        """Read a URL such as the example above; raises ValueError."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError(f"it is no URL such as {_EXAMPLE}") from None
        if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"it is no URL such as {_EXAMPLE}")
        if parts.query or parts.fragment:
            raise ValueError(f"it has more than a URL such as {_EXAMPLE}")
        return cls(
            parts.scheme,
            parts.hostname,
            port or PORTS[parts.scheme],
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        )

    @property
    def shown(self) -> str:
        """Return host and port, as people see them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def send(self, sender: str, recipients: Sequence[str], message: bytes) -> dict[str, str]:
        """Send a message; return the server's replies to recipients that it refused, by address.

        Raises :class:`HostFailed` if it took the message for nobody.
        """
        import smtplib

        # RFC 5321 2.3.8: a host that takes a bare CR or LF for a line end would read what follows
        # "." as commands, with which a message could name recipients of its own
        message = _with_crlf(message)
        for address in (sender, *recipients):
            if _NOT_IN_ADDRESS.search(address):
                text = f"{address!r} is no address for an SMTP command"
                raise HostFailed(text, is_final=True)
        try:
            with self._connection() as connection:
                options = _options(connection, sender, recipients, message)
                replies = connection.sendmail(sender, list(recipients), message, options)
        except smtplib.SMTPRecipientsRefused as error:
            replies = error.recipients
            lines = ", ".join(f"{each}: {_text(*replies[each])}" for each in replies)
            is_final = all(code >= 500 for code, _ in replies.values())
            text = f"{self.shown} refused every recipient: {lines}"
            raise HostFailed(text, is_final=is_final) from None
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            reply = _text(error.smtp_code, error.smtp_error)
            text = f"{self.shown} did not take the message: {reply}"
            raise HostFailed(text, is_final=error.smtp_code >= 500) from None
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise HostFailed(f"{self.shown} did not take the message: {error}") from None
        return {address: _text(*reply) for address, reply in replies.items()}

    def _connection(self) -> smtplib.SMTP:
        import smtplib
        import ssl

        if self.scheme == TLS:
            context = ssl.create_default_context()
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=SECONDS, context=context
            )
        else:
            connection = smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        try:
            if self.scheme == STARTTLS:
                connection.starttls(context=ssl.create_default_context())
            if self.username:
                connection.login(self.username, self.password)
        except BaseException:
            connection.close()
            raise
        return connection


def _options(
    connection: smtplib.SMTP, sender: str, recipients: Sequence[str], message: bytes
) -> list[str]:
    """Return the parameters of MAIL that the message needs (RFC 6152, RFC 6531)."""
    connection.ehlo_or_helo_if_needed()
    is_ascii = all(address.isascii() for address in (sender, *recipients))
    options = []
    if not message.isascii() and connection.has_extn("8bitmime"):
        options.append("BODY=8BITMIME")
    if not is_ascii:
        if not connection.has_extn("smtputf8"):
            raise ValueError("it has no SMTPUTF8, which addresses beyond ASCII need (RFC 6531)")
        options.append("SMTPUTF8")
    return options


def _with_crlf(message: bytes) -> bytes:
    return LineEnds().converted(message if message.endswith(b"\n") else message + b"\n")


def _text(code: int, text: bytes | str) -> str:
    return f"{code} {text if isinstance(text, str) else text.decode('utf-8', 'replace')}"
