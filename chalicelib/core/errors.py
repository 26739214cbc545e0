"""Define the errors that callers see, each with its HTTP status and public body (spec 7).

An error is a plain exception that is raised anywhere and translated at the edges: the HTTP
application makes it a reply, the relay an SMTP reply, a queue worker a failed record. Any other
exception is a fault of the service, and its details are not shown to the caller.

A body is ``{"errors": [...], **extra}``. An error object holds ``message`` and, where there is
more to say, ``description``, ``code`` (a string), ``param``, ``value``, ``part`` and ``line``.

The second half of this module is the catalogue: every refusal of the service by name, with its
status, message and code. Code elsewhere names the refusal and gives the description:
``raise bad_format("field 'name' is empty")``. A refusal without a code is *bare*: its message is
all that it says, and the caller of ``bad_request`` gives the whole message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final


class ServiceError(Exception):
    """A refusal with its HTTP ``status``, its ``errors``, ``extra`` top-level keys and headers."""

    def __init__(
        self,
        status: int,
        errors: Iterable[Mapping[str, Any]],
        *,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.errors = [dict(error) for error in errors]
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})
        super().__init__(status, self.errors)

    def __str__(self) -> str:
        return f"{self.status} {self.text}"

    @property
    def text(self) -> str:
        """Return what the errors say, without the HTTP status: events tell it, too."""
        return "; ".join(
            str(each.get("description") or each.get("message")) for each in self.errors
        )

    def body(self) -> dict[str, Any]:
        """Return the reply body."""
        return {"errors": self.errors, **self.extra}


class ApiError(ServiceError):
    """One error. The catalogue below makes these; code elsewhere names an entry of it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        description: str | None = None,
        param: str | None = None,
        value: Any = None,
        part: str | None = None,
        line: int | None = None,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        error = {
            "message": message,
            "description": description,
            "code": code,
            "param": param,
            "value": value,
            "part": part,
            "line": line,
        }
        present = {name: field for name, field in error.items() if field is not None}
        super().__init__(status, [present], extra=extra, headers=headers)


class ApiErrors(ServiceError):
    """Several errors under one status; ``errors`` are error objects as they go into the body."""


class Unauthorized(ApiError):
    """The request has no API key, or none that is valid (spec 5.5).

    ``description`` says what to write where the header has another form than an API key.
    """

    def __init__(self, description: str | None = None) -> None:
        # RFC 9110 11.6.1 wants a challenge. `Basic` would make a browser show its password window
        # in front of a page whose script sent a wrong key, so another scheme is named.
        challenge = {"WWW-Authenticate": 'Key realm="api"'}
        super().__init__(401, "Unauthorized.", description=description, headers=challenge)


class Forbidden(ApiError):
    """The key or session is valid, and does not allow this (spec 5.5)."""

    def __init__(self, description: str | None = None, code: str | None = None) -> None:
        super().__init__(403, "Forbidden.", code=code, description=description)


class NotFound(ApiError):
    """There is no resource at this path. Bare."""

    def __init__(self, message: str = "Resource could not be found") -> None:
        super().__init__(404, message)


class MethodNotAllowed(ApiError):
    """The path exists and takes only the methods ``allow``."""

    def __init__(self, allow: Iterable[str]) -> None:
        super().__init__(405, "Method Not Allowed", headers={"Allow": ", ".join(allow)})


class ContentTooLarge(ApiError):
    """The content makes a message that is larger than a message may be (spec 2.2)."""

    def __init__(self, description: str) -> None:
        message = "invalid data format/type"
        super().__init__(422, message, code="1300", description=description)


class TooLarge(ApiError):
    """The request body is larger than the service takes."""

    def __init__(self, description: str | None = None) -> None:
        super().__init__(413, "Request entity too large", description=description)


class UnsupportedMediaType(ApiError):
    """The body is not of the type that its route reads."""

    def __init__(self, description: str) -> None:
        super().__init__(415, "Unsupported media type", code="1700", description=description)


class TooManyRequests(ApiError):
    """The caller sends requests too often (spec 8, rate limiting).

    ``retry_after`` is the number of seconds until the next one counts, where it is known.
    """

    def __init__(self, *, retry_after: int = 0) -> None:
        headers = {"Retry-After": str(retry_after)} if retry_after else None
        description = f"try again in {retry_after} s" if retry_after else None
        super().__init__(429, "Too many requests", description=description, headers=headers)


class Unavailable(ApiError):
    """The service cannot take the request now, and may be able to later (503)."""

    def __init__(self) -> None:
        super().__init__(503, "Service unavailable", description="try again later")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry of the catalogue. Calling it with a description makes the error to raise."""

    status: int
    code: str | None
    message: str

    def __call__(
        self, description: str, *, param: str | None = None, value: Any = None
    ) -> ApiError:
        """Return the error; ``param`` and ``value`` name the parameter or field at fault."""
        return ApiError(
            self.status,
            self.message,
            code=self.code,
            description=description,
            param=param,
            value=value,
        )


@dataclass(frozen=True, slots=True)
class BareRefusal:
    """An entry of the catalogue that has no code. Calling it with a message makes the error."""

    status: int

    def __call__(
        self,
        message: str,
        *,
        description: str | None = None,
        param: str | None = None,
        value: Any = None,
    ) -> ApiError:
        """Return the error; ``param`` and ``value`` name the parameter or field at fault."""
        return ApiError(self.status, message, description=description, param=param, value=value)


# The catalogue, by status and code. Messages that differ only in their spelling belong to
# different routes: clients compare them, so they stay as they are.
bad_request: Final = BareRefusal(400)
not_permitted: Final = BareRefusal(403)
conflict: Final = BareRefusal(409)

invalid_dkim_key: Final = Refusal(400, "1100", "Invalid DKIM key")
invalid_params: Final = Refusal(400, "1200", "invalid params")
not_utf8: Final = Refusal(400, "1305", "request is not UTF-8")
missing_metrics_parameter: Final = Refusal(400, "1401", "required parameter missing")
missing_parameter: Final = Refusal(400, "1401", "required parameter is missing")
endpoint_failed: Final = Refusal(400, "1404", "request to remote endpoint failed")
invalid_idempotency_key: Final = Refusal(400, "1602", "Invalid idempotency key")
verification_mail_failed: Final = Refusal(400, "1901", "Failed to generate message")
template_exists: Final = Refusal(400, "3030", "template already exists")
recipient_list_exists: Final = Refusal(400, "5001", "recipient list already exists")
no_valid_recipient: Final = Refusal(400, "5002", "At least one valid recipient is required")
restricted_domain: Final = Refusal(400, "7000", "Restricted domain")
restricted_tracking_domain: Final = Refusal(400, "7000", "restricted domain")
invalid_domain: Final = Refusal(400, "7001", "Invalid domain")
domain_in_use: Final = Refusal(400, "7004", "Domain in use by another account")

resource_not_found: Final = Refusal(404, "1600", "resource not found")

idempotency_key_used: Final = Refusal(409, "1600", "Idempotency key already used")
idempotent_request_in_progress: Final = Refusal(409, "1601", "Idempotent request in progress")
resource_conflict: Final = Refusal(409, "1602", "resource conflict")
schedule_too_close: Final = Refusal(409, "2003", "schedule window too close")
not_cancellable: Final = Refusal(409, "2006", "illegal state for delete")

uri_too_large: Final = Refusal(413, None, "Request URI too large")

bad_format: Final = Refusal(422, "1300", "invalid data format/type")
invalid_combination: Final = Refusal(422, "1301", "invalid combination of fields")
missing_field: Final = Refusal(422, "1400", "required field is missing")
subresource_not_found: Final = Refusal(422, "1603", "subresource not found")
substitution_data_too_large: Final = Refusal(422, "2002", "substitution data is too large")
metadata_too_large: Final = Refusal(422, "2007", "metadata is too large")
wrong_sandbox_template: Final = Refusal(422, "2106", "wrong template for sandbox")
render_error: Final = Refusal(422, "3001", "substitution render error")
invalid_header_name: Final = Refusal(422, "3002", "invalid header name")
mime_build_error: Final = Refusal(422, "3010", "MIME build error")
message_parsing_error: Final = Refusal(422, "3020", "message parsing error")
sandbox_template_changed: Final = Refusal(422, "3051", "sandbox template changed")


def sending_limit_exceeded(limit: str, description: str) -> ApiError:
    """Return 420 with code 2101: more recipients than ``limit`` allows, and nothing is sent."""
    return Refusal(420, "2101", f"Exceed Sending Limit ({limit})")(description)


def must_enrol() -> Forbidden:
    """Return the refusal of a user who has to show or set up a second factor first (spec 5.9)."""
    return Forbidden(
        "a second factor comes first: show yours or set one up", code="2fa_setup_required"
    )


def code_required(methods: Iterable[str]) -> ApiError:
    """Return the refusal of a password alone; ``methods`` are the second factors of the user."""
    return ApiError(
        403,
        "Forbidden.",
        code="2fa_required",
        description="the user has a second factor: send its code, too",
        extra={"methods": list(methods)},
    )


@contextmanager
def bare_errors(*, coded_only: bool = False) -> Iterator[None]:
    """Make the errors of a view bare: a message that holds the description, and no code.

    Template faults keep ``part`` and ``line``. With ``coded_only``, errors without a code stay
    as they are.
    """
    try:
        yield
    except ServiceError as error:
        bare = [_bare(each) if "code" in each or not coded_only else each for each in error.errors]
        raise ApiErrors(error.status, bare, headers=error.headers) from None


def _bare(error: Mapping[str, Any]) -> dict[str, Any]:
    place = {name: error[name] for name in ("part", "line") if name in error}
    return {"message": error.get("description") or error["message"], **place}
