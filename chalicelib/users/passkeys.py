"""Add passkeys to a user and sign in with them (WebAuthn).

- A passkey is for the host of ``PUBLIC_URL`` and for pages of exactly this origin.
- It is discoverable and verifies its user, so it stands for both factors.
- A challenge is signed for its use and its user, lasts five minutes and is good once.
- A signature counter that does not go up means a copy of the passkey, which is refused.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.core import clock, signing
from chalicelib.core.errors import ApiError, bad_request, conflict
from chalicelib.core.settings import settings
from chalicelib.core.web_address import PORTS
from chalicelib.users.model import ACTIVE, Passkey, User, draw_secret
from chalicelib.users.store import used_states, users

MOST_PASSKEYS: Final = 10
MOST_NAME: Final = 100
#: The method of a session that began with a passkey
METHOD: Final = "passkey"

_LIFETIME = 300
_NEW, _SIGN_IN = "new passkey", "sign-in by passkey"
_SERVICE = "Postfinch"


class PasskeyRefused(Exception):
    """The passkey does not prove what it should; the text says why, for the log.

    ``user`` is the user whose passkey it claims to be, if there is one.
    """

    user: User | None = None


def creation_options(user: User) -> dict[str, Any]:
    """Return ``options`` for ``navigator.credentials.create`` and the ``state`` of the request."""
    import webauthn
    from webauthn.helpers import structs

    if len(user.passkeys) >= MOST_PASSKEYS:
        raise too_many()
    challenge, state = _draw_challenge(_NEW, user.id)
    options = webauthn.generate_registration_options(
        rp_id=_host(),
        rp_name=_SERVICE,
        user_id=user.id.encode(),
        user_name=user.email,
        user_display_name=user.name or user.email,
        challenge=challenge,
        timeout=_LIFETIME * 1000,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(each.id))
            for each in user.passkeys
        ],
    )
    return {"options": json.loads(webauthn.options_to_json(options)), "state": state}


def read_new(user: User, credential: Mapping[str, Any], state: str, name: str) -> Passkey:
    """Return the passkey that a browser made; raises :class:`PasskeyRefused`."""
    import webauthn

    challenge = _use_challenge(_NEW, user.id, state)
    try:
        registration = webauthn.verify_registration_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=_host(),
            expected_origin=_origin(),
            require_user_verification=True,
        )
    except Exception as error:
        raise _refusal(error) from error
    return Passkey(
        id=_base64url(registration.credential_id),
        public_key=_base64url(registration.credential_public_key),
        sign_count=registration.sign_count,
        name=name,
        created=clock.now(),
    )


def sign_in_options() -> dict[str, Any]:
    """Return ``options`` for ``navigator.credentials.get`` and the ``state`` of the request.

    They name no user: the browser offers its passkeys for this host.
    """
    import webauthn
    from webauthn.helpers import structs

    challenge, state = _draw_challenge(_SIGN_IN, "")
    options = webauthn.generate_authentication_options(
        rp_id=_host(),
        challenge=challenge,
        timeout=_LIFETIME * 1000,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return {"options": json.loads(webauthn.options_to_json(options)), "state": state}


def sign_in(credential: Mapping[str, Any], state: str) -> User:
    """Return the active user whose passkey answered; raises :class:`PasskeyRefused`."""
    challenge = _use_challenge(_SIGN_IN, "", state)

    user_id = _user_of(credential)

    def use(present: User) -> User:
        passkey = _passkey(present, str(credential.get("id")))
        if present.status != ACTIVE:
            raise PasskeyRefused("the user is not active")
        after = replace(
            passkey, sign_count=_verify(credential, challenge, passkey), last_used=clock.now()
        )
        rest = tuple(after if each == passkey else each for each in present.passkeys)
        return replace(present, passkeys=rest)

    try:
        user = users.change(user_id, use, silent=True)
    except PasskeyRefused as error:
        error.user = users.get(user_id)
        raise
    if user is None:
        raise PasskeyRefused("there is no such user")
    return user


def too_many() -> ApiError:
    """Return the refusal of a passkey beyond the most that a user may have."""
    return conflict(
        "too many passkeys", description=f"a user may have at most {MOST_PASSKEYS} passkeys"
    )


def _verify(credential: Mapping[str, Any], challenge: bytes, passkey: Passkey) -> int:
    """Return the signature counter of an answer that is valid."""
    import webauthn

    try:
        answer = webauthn.verify_authentication_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=_host(),
            expected_origin=_origin(),
            credential_public_key=webauthn.base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except Exception as error:
        raise _refusal(error) from error
    return answer.new_sign_count


def _refusal(error: Exception) -> PasskeyRefused:
    """Return what a failed verification means: the package has many exceptions for bad input."""
    return PasskeyRefused(f"{type(error).__name__}: {error}")


def _passkey(user: User, credential_id: str) -> Passkey:
    for passkey in user.passkeys:
        if passkey.id == credential_id:
            return passkey
    raise PasskeyRefused("the user has no such passkey")


def _user_of(credential: Mapping[str, Any]) -> str:
    import webauthn

    response = credential.get("response")
    handle = response.get("userHandle") if isinstance(response, Mapping) else None
    try:
        return webauthn.base64url_to_bytes(str(handle or "")).decode("ascii")
    except ValueError:
        raise PasskeyRefused("the credential names no user") from None


def _draw_challenge(use: str, user_id: str) -> tuple[bytes, str]:
    secret = draw_secret()
    state = {"challenge": secret, "user": user_id, "ends": clock.now() + _LIFETIME}
    return secret.encode(), signing.to_token(state, use)


def _use_challenge(use: str, user_id: str, state: str) -> bytes:
    try:
        fields = signing.from_token(state, use)
    except signing.BadSignature:
        raise bad_request("state is none of ours", param="state") from None
    if fields["user"] != user_id or not used_states.use(fields["challenge"], fields["ends"]):
        raise PasskeyRefused("the challenge is over, or it was used")
    return str(fields["challenge"]).encode()


def _host() -> str:
    return urlsplit(settings().public_url).hostname or ""


def _origin() -> str:
    """Return the origin of ``PUBLIC_URL`` as browsers write it (RFC 6454 6.2)."""
    url = urlsplit(settings().public_url)
    port = "" if url.port in (None, PORTS[url.scheme]) else f":{url.port}"
    host = url.hostname or ""
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _base64url(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
