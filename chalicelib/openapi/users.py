"""Describe ``/users``, ``/me``, ``/sessions`` and the sign-in with a password."""

from __future__ import annotations

from typing import Final

from chalicelib.api_keys.grants import GRANTS
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    Responses,
    content,
    results,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    email,
    flag,
    integer,
    moment,
    nullable,
    obj,
    one_of,
    record,
    text,
)
from chalicelib.users.model import ACTIVE, DISABLED, STATUSES
from chalicelib.users.passwords import LONGEST, SHORTEST
from chalicelib.users.request import MOST_NAME
from chalicelib.users.roles import ROLES
from chalicelib.users.sign_in_routes import MOST_CODE

_USERS: Final = "/api/v1/users"
_USER: Final = f"{_USERS}/{{user_id}}"
_INVITATION: Final = "/api/v1/invitations/{token}"

_NAME: Final = text(most=MOST_NAME)
_NEW_PASSWORD: Final = text(
    least=SHORTEST, most=LONGEST, about="None of the most common ones; no rules of composition"
)
_PLACE: Final = nullable(integer(1)) | {
    "description": "The subaccount that the user is tied to; for the roles developer and reporting"
}
_GRANTS: Final = array(one_of(grant.key for grant in GRANTS)) | {
    "description": "For the role `custom`: what the user may do"
}
_SHOWN: Final[dict[str, Json]] = {
    "id": text(),
    "email": email(),
    "name": text(),
    "role": one_of(ROLES),
    "status": one_of(STATUSES),
    "subaccount_id": nullable(integer(1)),
    "grants": array(text()),
    "tfa_enabled": flag(),
    "last_sign_in": nullable(moment()),
    "created": nullable(moment()),
}
_SHOWN_USER: Final = record(**_SHOWN)
_ME: Final = results(
    record(
        **_SHOWN,
        has_password=flag(),
        csrf_token=text(about="What changes by this session send as `X-CSRF-Token`"),
        session_id=text(),
        account=record(customer_id=integer(), company_name=text(), tfa_required=flag()),
    )
)
_SESSIONS: Final = results(
    array(
        record(
            id=text(),
            created=nullable(moment()),
            last_used=nullable(moment()),
            expires=nullable(moment()),
            ip=text(),
            user_agent=text(),
            method=text(about="`password`, `passkey` or the id of a provider of single sign-on"),
            second_factor=flag(),
            current=flag(),
        )
    )
)
_STATUS: Final = results(record(id=text(), status=one_of(STATUSES)))
_MESSAGE: Final = results(record(message=text()))
_SIGNED_IN: Final[Responses] = results(record(csrf_token=text())) | content(
    "application/json",
    record(
        errors=array(record(message=text(), description=text(), code=text())),
        methods=Maybe(array(one_of(("totp", "passkey")))),
        results=Maybe(record(csrf_token=text())),
    ),
    status=403,
    about="A code is missing (`2fa_required`, with the `methods` of the user), or a second factor "
    "must be set up first (`2fa_setup_required`, with a session that can do only that)",
)

OPERATIONS: Final[Operations] = {
    f"GET {_USERS}": Operation(results(array(_SHOWN_USER))),
    f"POST {_USERS}": Operation(
        _STATUS,
        body=obj(
            "email",
            "role",
            email=email(),
            role=one_of(ROLES),
            name=_NAME,
            subaccount_id=_PLACE,
            grants=_GRANTS,
        ),
        refusals=(409,),
    ),
    f"GET {_USER}": Operation(results(_SHOWN_USER)),
    f"PUT {_USER}": Operation(
        results(_SHOWN_USER),
        body=obj(
            role=one_of(ROLES),
            name=_NAME,
            status=one_of((ACTIVE, DISABLED)),
            subaccount_id=_PLACE,
            grants=_GRANTS,
        ),
        refusals=(409,),
    ),
    f"DELETE {_USER}": Operation(NO_CONTENT, refusals=(409,)),
    f"POST {_USER}/invitation": Operation(_STATUS, refusals=(409,)),
    f"DELETE {_USER}/second-factor": Operation(NO_CONTENT),
    f"GET {_USER}/sessions": Operation(_SESSIONS),
    f"DELETE {_USER}/sessions": Operation(NO_CONTENT),
    f"DELETE {_USER}/sessions/{{session_id}}": Operation(NO_CONTENT),
    "GET /api/v1/me": Operation(_ME),
    "PUT /api/v1/me": Operation(
        _ME,
        body=obj(
            name=_NAME,
            password=_NEW_PASSWORD,
            old_password=text(most=LONGEST, about="Needed with `password`, if the user has one"),
        ),
    ),
    "GET /api/v1/sessions": Operation(_SESSIONS),
    "DELETE /api/v1/sessions/{session_id}": Operation(NO_CONTENT),
    "POST /api/v1/sign-in": Operation(
        _SIGNED_IN,
        body=obj(
            "email",
            "password",
            email=text(),
            password=text(most=LONGEST),
            code=text(most=MOST_CODE, about="A code of the second factor, or a recovery code"),
        ),
        refusals=(400, 401),
    ),
    "POST /api/v1/sign-out": Operation(NO_CONTENT),
    f"GET {_INVITATION}": Operation(
        results(record(email=email(), name=text(), role=one_of(ROLES), company_name=text()))
    ),
    f"POST {_INVITATION}": Operation(
        _SIGNED_IN,
        body=obj("password", password=_NEW_PASSWORD, name=_NAME),
        refusals=(400, 401),
    ),
    "POST /api/v1/password-reset": Operation(
        _MESSAGE, body=obj("email", email=email()), refusals=(400,)
    ),
    "POST /api/v1/password-reset/{token}": Operation(
        _MESSAGE, body=obj("password", password=_NEW_PASSWORD), refusals=(400,)
    ),
}
