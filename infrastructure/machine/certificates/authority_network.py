"""Speak HTTPS with an ACME authority: its trust, refused nonces and ``Retry-After``."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, cast

import requests
from acme import messages
from acme.client import ClientNetwork
from josepy.jwa import ES256
from josepy.jwk import JWK

from chalicelib import __version__
from chalicelib.core import clock

_TIMEOUT_SECONDS = 30
# The library repeats a request once. A server may refuse nonces at random, to keep clients honest
_ATTEMPTS = 8


class AuthorityNetwork(ClientNetwork):
    """The library's network, for one order."""

    def __init__(self, key: JWK, ca_file: Path | None) -> None:
        """``ca_file`` has the only authorities (PEM) whom the directory's certificate may be from.

        Without it, it may be from those that every browser trusts.
        """
        super().__init__(
            key,
            alg=ES256,
            # Handed on to requests, which takes a path as well
            verify_ssl=cast(bool, str(ca_file)) if ca_file else True,
            user_agent=f"postfinch/{__version__}",
            timeout=_TIMEOUT_SECONDS,
        )
        self.retry_after: float | None = None
        self.session.hooks["response"].append(self._note_retry_after)

    def post(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Post a signed request, again with another nonce as often as the nonce was refused."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return super().post(*args, **kwargs)
            except messages.Error as error:
                if error.code != "badNonce":
                    raise
        return super().post(*args, **kwargs)

    def _note_retry_after(self, response: requests.Response, **_: object) -> None:
        """Keep how long the last answer that was an error asks to wait, in seconds."""
        header = None if response.ok else response.headers.get("Retry-After")
        self.retry_after = retry_after_seconds(header) if header else None


def retry_after_seconds(header: str) -> float | None:
    """Return the seconds of a ``Retry-After`` (RFC 9110 10.2.3), ``None`` for another form."""
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        return max(parsedate_to_datetime(header).timestamp() - clock.now(), 0.0)
    except (ValueError, OverflowError):
        return None
