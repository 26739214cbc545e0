"""Make, read and delete the identities of domains by the Amazon SES v2 API.

An identity that the service made has a tag with the name of its stage. Any other identity belongs
to somebody else: another stage, or a person who verified the domain in SES by hand. It is read and
never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import ses
from chalicelib.core.settings import settings

_STAGE_TAG: Final = "postfinch-stage"


class SesFault(Exception):
    """SES refused a request, or was not reached; the text is good to show."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity as SES has it.

    ``is_own`` says that this stage made it, ``selector`` is that of its key, ``is_verified`` that
    mail may be sent from it. ``dkim`` is the status of the key: ``SUCCESS``, ``PENDING``,
    ``FAILED``, ``TEMPORARY_FAILURE`` or ``NOT_STARTED``.
    """

    is_own: bool
    is_verified: bool
    dkim: str
    selector: str
    forwards_bounces: bool


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key to sign with: the selector, and the private half as base64 of its DER form."""

    selector: str
    private: str


def find(domain: str) -> Identity | None:
    """Return the identity of a domain; ``None`` if there is none."""
    try:
        response = _client().get_email_identity(EmailIdentity=domain)
    except ClientError as error:
        if _name_of(error) == "NotFoundException":
            return None
        raise _fault(error) from None
    except BotoCoreError as error:
        raise _fault(error) from None
    dkim = response.get("DkimAttributes", {})
    tags = {tag["Key"]: tag["Value"] for tag in response.get("Tags", [])}
    return Identity(
        tags.get(_STAGE_TAG) == settings().stage,
        bool(response.get("VerifiedForSendingStatus")),
        dkim.get("Status", "NOT_STARTED"),
        next(iter(dkim.get("Tokens", [])), ""),
        bool(response.get("FeedbackForwardingStatus")),
    )


def create(domain: str, key: SigningKey) -> None:
    """Make the identity of a domain, which signs with the key; it may be there already."""
    try:
        _client().create_email_identity(
            EmailIdentity=domain,
            DkimSigningAttributes=_attributes(key),
            Tags=[{"Key": _STAGE_TAG, "Value": settings().stage}],
        )
    except ClientError as error:
        if _name_of(error) != "AlreadyExistsException":
            raise _fault(error) from None
    except BotoCoreError as error:
        raise _fault(error) from None


def replace_key(domain: str, key: SigningKey) -> None:
    """Let the identity sign with another key; SES then looks for its DNS record."""
    _call(
        "put_email_identity_dkim_signing_attributes",
        EmailIdentity=domain,
        SigningAttributesOrigin="EXTERNAL",
        SigningAttributes=_attributes(key),
    )


def stop_forwarding(domain: str) -> None:
    """Have no bounces mailed to the senders of the messages: notifications tell of them."""
    _call(
        "put_email_identity_feedback_attributes", EmailIdentity=domain, EmailForwardingEnabled=False
    )


def delete(domain: str) -> None:
    """Delete the identity of a domain."""
    _call("delete_email_identity", EmailIdentity=domain)


def _call(operation: str, **request: Any) -> None:
    try:
        getattr(_client(), operation)(**request)
    except (ClientError, BotoCoreError) as error:
        raise _fault(error) from None


def _attributes(key: SigningKey) -> Mapping[str, str]:
    return {"DomainSigningSelector": key.selector, "DomainSigningPrivateKey": key.private}


def _fault(error: ClientError | BotoCoreError) -> SesFault:
    if isinstance(error, ClientError):
        text = error.response.get("Error", {}).get("Message", "")
        return SesFault(f"{_name_of(error)}: {text}"[:500])
    return SesFault("SES was not reached")


def _name_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@cache
def _client() -> Any:
    return ses.client(settings())
