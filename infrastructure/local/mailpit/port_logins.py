"""Ask for a login at the port of Mailpit's API, where a file of passwords is set.

- A program logs in with HTTP Basic at each request.
- A browser asks its user once. The page then has a cookie, too: where the console's requests carry
  an API key in ``Authorization``, or open an event stream, there is no room for the login.
- A request with an API key for this service's own API needs no login: the service checks the key.
  Neither do the files of the console, which a page with a key asks for in the same way.
- Checks of health need none, and neither do the requests by which a browser asks before those of a
  page of another origin.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Iterable

from infrastructure.local.gateway.request_body import Scope
from infrastructure.local.mailpit.basic_login import BasicLogin, read_login
from infrastructure.local.mailpit.router import API
from infrastructure.local.passwords import Passwords

OPEN_PATHS = ("/livez", "/readyz")
SEND_PATH = f"{API}/send"
COOKIE = "mailpit_login"
CHALLENGE = 'Basic realm="Login"'

_OWN_API = "/api/"
_CONSOLE = "/console/"


class PortLogins:
    """The logins that are needed. ``port`` is for all but sending, and for that without ``send``.

    ``anybody_sends`` lets messages be sent without a login.
    """

    def __init__(
        self,
        port: Passwords | None = None,
        send: Passwords | None = None,
        *,
        anybody_sends: bool = False,
    ) -> None:
        self._port = port
        self._send = send
        self._anybody_sends = anybody_sends
        # A restart of the service makes another one, and the browser logs in again by itself
        self._token = secrets.token_urlsafe(32)

    async def admits(self, scope: Scope, *, is_mailpits: bool) -> bool:
        """Tell whether a request has a login that it needs; its path is below the root.

        ``is_mailpits`` says that the path is one of Mailpit's.
        """
        path = scope["raw_path"].decode("ascii")
        if path in OPEN_PATHS:
            return True
        if path == SEND_PATH and (self._anybody_sends or self._send):
            return self._anybody_sends or await _is_login(self._send, _login(scope))
        if self._port is None or self._has_cookie(scope):
            return True
        is_guarded = path.startswith((_OWN_API, _CONSOLE)) and path != _CONSOLE
        if not is_mailpits and is_guarded and _has_key(scope):
            return True
        return await _is_login(self._port, _login(scope))

    async def cookies(self, scope: Scope, root: str) -> tuple[str, ...]:
        """Return values of ``Set-Cookie`` for a page that was opened with a login, else none."""
        accept = b" ".join(_values(scope, b"accept"))
        is_new_page = b"text/html" in accept and not self._has_cookie(scope)
        if not is_new_page or not await _is_login(self._port, _login(scope)):
            return ()
        return (f"{COOKIE}={self._token}; Path={root}/; HttpOnly; SameSite=Strict",)

    async def without_login(self, scope: Scope) -> Scope:
        """Return a request without its login, which the service would take for an API key."""
        if not await _is_login(self._port, _login(scope)):
            return scope
        headers = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
        return {**scope, "headers": headers}

    def _has_cookie(self, scope: Scope) -> bool:
        expected = f"{COOKIE}={self._token}".encode()
        pairs = b";".join(_values(scope, b"cookie")).split(b";")
        return any(hmac.compare_digest(pair.strip(), expected) for pair in pairs)


async def _is_login(passwords: Passwords | None, login: BasicLogin | None) -> bool:
    """Tell whether a login is right; a hash takes long on purpose, so a thread computes it."""
    if passwords is None or login is None:
        return False
    return await asyncio.to_thread(passwords.is_right, *login)


def _login(scope: Scope) -> BasicLogin | None:
    # Of several, none is known to be the one that counts
    values = [value.decode("latin-1") for value in _values(scope, b"authorization")]
    return read_login(values[0]) if len(values) == 1 else None


def _has_key(scope: Scope) -> bool:
    values = [*_values(scope, b"authorization")]
    # A key stands there without a scheme before it
    return len(values) == 1 and bool(values[0]) and b" " not in values[0]


def _values(scope: Scope, name: bytes) -> Iterable[bytes]:
    return (value for each, value in scope["headers"] if each == name)
