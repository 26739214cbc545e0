"""Describe ``/second-factor`` and the sign-in by passkey."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import NO_CONTENT, Operation, Operations, Responses, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    mapping,
    moment,
    nullable,
    obj,
    one_of,
    record,
    text,
)
from chalicelib.users.passkeys import MOST_NAME
from chalicelib.users.second_factor_routes import MOST_CODE, MOST_STATE, TYPES

_PATH: Final = "/api/v1/second-factor"
_PASSKEY_SIGN_IN: Final = "/api/v1/sign-in/passkey"

_CSRF_TOKEN: Final = text(about="Changes by the session's cookie send it as `X-CSRF-Token`")
_STATE: Final = text(most=MOST_STATE, about="Goes back with the browser's answer, within 5 minutes")
_CREDENTIAL: Final = mapping() | {
    "description": "What `PublicKeyCredential.toJSON()` returns in the browser"
}
_OPTIONS: Final = mapping() | {"description": "Options of WebAuthn, as JSON"}
_CODES: Final[Responses] = results(
    record(
        recovery_codes=array(text())
        | {"description": "Ten codes that work once each. They are shown only this once"}
    )
)
_PASSKEY: Final = record(id=text(), name=text(), created=moment(), last_used=nullable(moment()))
_QR_CODE: Final = record(
    size=integer(1) | {"description": "Side of the square, in modules"},
    path=text(about="Data of an SVG path that covers the dark modules"),
)
_BEGUN: Final = record(
    secret=Maybe(text(about="For `totp`: the secret in base32")),
    uri=Maybe(text(about="For `totp`: the `otpauth` URI that the QR code holds")),
    qr=Maybe(_QR_CODE),
    options=Maybe(_OPTIONS),
    state=Maybe(_STATE),
)
_CONFIRMATION: Final[Json] = obj(
    code=text(most=MOST_CODE, about="A code of the authenticator"),
    credential=_CREDENTIAL,
    state=_STATE,
    name=text(most=MOST_NAME, about="Name of the new passkey"),
)

#: What a sign-in answers: the session is in the cookie
SIGNED_IN: Final = record(csrf_token=_CSRF_TOKEN)

OPERATIONS: Final[Operations] = {
    f"GET {_PATH}": Operation(
        results(
            record(
                totp=flag(),
                passkeys=array(_PASSKEY),
                recovery_codes_left=integer(0),
                csrf_token=_CSRF_TOKEN,
            )
        )
    ),
    f"POST {_PATH}": Operation(
        results(_BEGUN), body=obj("type", type=one_of(TYPES)), refusals=(409,)
    ),
    f"PUT {_PATH}": Operation(_CODES, body=_CONFIRMATION, refusals=(409,)),
    f"DELETE {_PATH}": Operation(NO_CONTENT, refusals=(409,)),
    f"DELETE {_PATH}/totp": Operation(NO_CONTENT, refusals=(404, 409)),
    f"DELETE {_PATH}/passkeys/{{passkey_id}}": Operation(NO_CONTENT, refusals=(409,)),
    f"POST {_PATH}/recovery-codes": Operation(_CODES, refusals=(409,)),
    f"POST {_PASSKEY_SIGN_IN}/options": Operation(results(record(options=_OPTIONS, state=_STATE))),
    f"POST {_PASSKEY_SIGN_IN}": Operation(
        results(SIGNED_IN),
        body=obj("credential", "state", credential=_CREDENTIAL, state=_STATE),
        refusals=(400, 401),
    ),
}
