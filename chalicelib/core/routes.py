"""Declare the routes of a feature, each with its method, its path and the grant that it needs.

The decorated view stays a plain function of the :class:`Request` and the path's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import chalice

from chalicelib.core.reply import Reply

PUBLIC: Final = "public"
AUTHENTICATED: Final = "authenticated"
PERSON: Final = "person"
ENROLLING: Final = "enrolling"
#: What a route may declare in place of a grant
NO_GRANTS: Final = (PUBLIC, AUTHENTICATED, PERSON, ENROLLING)

View = Callable[..., Reply]

_GRANT = re.compile(r"[a-z_-]+/[a-z_-]+")


class DeclaredRoute(NamedTuple):
    """One method of one path, and the grant it needs (or one of :data:`NO_GRANTS`).

    ``subaccount_header`` says whether the header that names a subaccount is read.
    """

    method: str
    path: str
    grant: str
    subaccount_header: bool = True


class Routes(chalice.Blueprint):
    """The routes of one feature.

    ``grant`` says who may call: a grant such as ``templates/view``, ``AUTHENTICATED`` (any valid
    key or session), ``PERSON`` (a signed-in user, not a key), ``ENROLLING`` (a user who may still
    have to set up a second factor) or ``PUBLIC`` (anybody). The view gets the :class:`Request`, and
    the path's parameters by name, decoded once. A route that ``waits`` asks other hosts, such as a
    webhook's target or name servers: where requests share threads, it must not take those of the
    others.
    """

    def get(
        self, path: str, *, grant: str, subaccount_header: bool = True, waits: bool = False
    ) -> Callable[[View], View]:
        """Declare the view of GET ``path``, which also answers HEAD.

        Without ``subaccount_header`` the header is ignored, whatever it holds (spec 5.6).
        """
        return self._declare("GET", path, grant, waits, subaccount_header=subaccount_header)

    def post(self, path: str, *, grant: str, waits: bool = False) -> Callable[[View], View]:
        """Declare the view of POST ``path``."""
        return self._declare("POST", path, grant, waits)

    def put(self, path: str, *, grant: str, waits: bool = False) -> Callable[[View], View]:
        """Declare the view of PUT ``path``."""
        return self._declare("PUT", path, grant, waits)

    def delete(self, path: str, *, grant: str) -> Callable[[View], View]:
        """Declare the view of DELETE ``path``."""
        return self._declare("DELETE", path, grant)

    def _declare(
        self,
        method: str,
        path: str,
        grant: str,
        waits: bool = False,
        *,
        subaccount_header: bool = True,
    ) -> Callable[[View], View]:
        return self.route(
            path,
            methods=[method],
            grant=grant,
            waits=waits,
            subaccount_header=subaccount_header,
        )


def is_grant(text: str) -> bool:
    """Tell whether a route may declare ``text`` as its grant."""
    return text in NO_GRANTS or _GRANT.fullmatch(text) is not None
