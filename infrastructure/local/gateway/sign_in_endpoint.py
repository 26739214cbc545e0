"""Sign the local administrator in with the first API key: ``POST /local/sign-in``.

The link that ``postfinch run`` prints has that key. Whoever has it may do everything, so the
console exchanges it for a session, and keeps no key in the page. The local administrator is an
ordinary user of account 1 without a password, who is created when first needed. One who was
disabled stays so.
"""

from __future__ import annotations

import hmac
import json
from typing import Final

from chalicelib.authentication.service import read_key
from chalicelib.core import audit, clock
from chalicelib.core.errors import Unauthorized
from chalicelib.core.request import Actor, Request
from chalicelib.users import roles, sign_in
from chalicelib.users.model import ACTIVE, User, draw_id
from chalicelib.users.store import users
from infrastructure.bootstrap import ACCOUNT_ID
from infrastructure.local.gateway.local_api import LocalError, LocalReply, LocalRequest, LocalRoute

PATH: Final = "/local/sign-in"
ADDRESS: Final = "admin@localhost"
NAME: Final = "Local administrator"
#: How the user signed in, as the list of sessions shows it
METHOD: Final = "local"

_COMMAND = Actor("operator", "", "postfinch run")


class SignInEndpoint:
    """The operation of ``/local/sign-in``. ``api_key`` is the first key of account 1."""

    def __init__(self, api_key: str) -> None:
        self._api_key = api_key

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [LocalRoute("POST", PATH, self.sign_in)]

    def sign_in(self, request: LocalRequest) -> LocalReply:
        """Exchange the first API key for a session of the local administrator."""
        headers = {name.lower(): value for name, value in request.headers}
        if not self._is_key(headers.get("authorization", "")):
            raise Unauthorized("Authorization must have the API key that `postfinch run` prints")
        reply = sign_in.begin_session(
            Request(request.method, request.path, headers=headers),
            local_administrator(),
            method=METHOD,
            # The key stands for both: it may do everything, and switch the second factor off
            second_factor=True,
        )
        return LocalReply(json.dumps(reply.body).encode(), cookies=reply.cookies)

    def _is_key(self, header: str) -> bool:
        return bool(self._api_key) and hmac.compare_digest(
            read_key(header).encode(), self._api_key.encode()
        )


def local_administrator() -> User:
    """Return the local administrator, created if there is none."""
    return local_user(ADDRESS, NAME, roles.ADMIN)


def local_user(address: str, name: str, role: str) -> User:
    """Return the user of an address, created with a name and a role if there is none."""
    user = users.by_address(address)
    if user is None:
        new = User(draw_id(), ACCOUNT_ID, address, role, clock.now(), name, ACTIVE)
        author = audit.Author(ACCOUNT_ID, _COMMAND, "POST", PATH, users.RESOURCE)
        with audit.bound(author):
            user = new if users.create(new) else users.by_address(address)
    if user is None or user.account_id != ACCOUNT_ID:
        raise LocalError(409, f"{address} is no user of account {ACCOUNT_ID}")
    return user
