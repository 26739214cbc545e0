"""Errors that a caller is told about: each knows its HTTP status and its public body (spec 7).

They are plain exceptions, raised anywhere and translated at the edges: the HTTP application turns
them into a reply, the relay into an SMTP reply, a queue worker into a failed record. Anything else
that is raised is a fault of ours and shows nothing of itself to the caller.

A body is ``{"errors": [...], **extra}``. An error object holds ``message`` and, where there is
more to say, ``description``, ``code`` (a string), ``param``, ``value``, ``part`` and ``line``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


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
        texts = (str(error.get("description") or error.get("message")) for error in self.errors)
        return f"{self.status} " + "; ".join(texts)

    def body(self) -> dict[str, Any]:
        """Return the reply body."""
        return {"errors": self.errors, **self.extra}


class ApiError(ServiceError):
    """One error. Give ``code`` and ``description`` for the coded form, neither for the bare one."""

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
        present = {key: given for key, given in error.items() if given is not None}
        super().__init__(status, [present], extra=extra, headers=headers)


class ApiErrors(ServiceError):
    """Several errors under one status; ``errors`` are error objects as they go into the body."""


class Unauthorized(ApiError):
    """No credentials, or none that are valid (spec 5.5)."""

    def __init__(self) -> None:
        # RFC 9110 11.6.1 wants a challenge. `Basic` would make a browser show its password
        # window in front of a page whose script sent a wrong key, so the scheme is another.
        super().__init__(401, "Unauthorized.", headers={"WWW-Authenticate": 'Key realm="api"'})


class Forbidden(ApiError):
    """Valid credentials that do not reach this far (spec 5.5)."""

    def __init__(self, description: str | None = None) -> None:
        super().__init__(403, "Forbidden.", description=description)


class NotFound(ApiError):
    """Nothing is at this path."""

    def __init__(self, message: str = "Resource could not be found") -> None:
        super().__init__(404, message)


class MethodNotAllowed(ApiError):
    """The path exists and takes only the methods ``allow``."""

    def __init__(self, allow: Iterable[str]) -> None:
        super().__init__(405, "Method Not Allowed", headers={"Allow": ", ".join(allow)})


class TooLarge(ApiError):
    """The request body is larger than the service takes."""

    def __init__(self) -> None:
        super().__init__(413, "Request entity too large")


class UnsupportedMediaType(ApiError):
    """The body is not what its route reads."""

    def __init__(self, description: str) -> None:
        super().__init__(415, "Unsupported media type", code="1700", description=description)


class TooManyRequests(ApiError):
    """The caller asks too often (spec 8, rate limiting)."""

    def __init__(self) -> None:
        super().__init__(429, "Too many requests")


class Unavailable(ApiError):
    """The service cannot take the request now and may later (503)."""

    def __init__(self) -> None:
        super().__init__(503, "Service unavailable", description="try again later")


def invalid_params(description: str) -> ApiError:
    """Return 400 with code 1200: a query parameter or a field has a value that cannot be used."""
    return ApiError(400, "invalid params", code="1200", description=description)


def bad_format(description: str) -> ApiError:
    """Return 422 with code 1300: wrong type, length or format."""
    return ApiError(422, "invalid data format/type", code="1300", description=description)


def missing_field(description: str) -> ApiError:
    """Return 422 with code 1400: a required field is not there."""
    return ApiError(422, "required field is missing", code="1400", description=description)


def resource_not_found(description: str) -> ApiError:
    """Return 404 with code 1600: the path is right, what it names does not exist."""
    return ApiError(404, "resource not found", code="1600", description=description)
