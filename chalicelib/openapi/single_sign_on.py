"""Describe the sign-in with OpenID Connect providers."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import Operation, Operations, query, redirect, results
from chalicelib.openapi.schema import array, record, text

_PATH: Final = "/api/v1/sign-in/providers"

OPERATIONS: Final[Operations] = {
    f"GET {_PATH}": Operation(results(array(record(id=text(), name=text())))),
    f"GET {_PATH}/{{provider_id}}": Operation(redirect(302, "To the provider")),
    f"GET {_PATH}/{{provider_id}}/callback": Operation(
        redirect(302, "To the console, with the session's cookie or the reason of the refusal"),
        parameters=(
            query("code", text(), "The code of the provider"),
            query("state", text(), "What the sign-in began with"),
            query("iss", text(), "The issuer (RFC 9207)"),
            query("error", text(), "Why the provider refuses"),
        ),
    ),
}
