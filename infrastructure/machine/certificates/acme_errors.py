"""Read the errors of the ACME client: why an order failed, in the authority's own words."""

from __future__ import annotations

from collections.abc import Iterator

import josepy
import requests
from acme import errors, messages

from infrastructure.machine.certificates.order_failure import Failure

_LONGEST_TEXT = 1000


def failure_of(error: Exception, retry_after: float | None, *, is_general: bool) -> Failure:
    """Return the failure that an error of the ACME client means.

    ``is_general`` tells that the error came before anything was asked for a name.
    """
    code = error.code if isinstance(error, messages.Error) else None
    return Failure(
        text=" ".join(" ".join(_words(error)).split())[:_LONGEST_TEXT],
        is_general=is_general or code == "serverInternal" or _is_of_the_connection(error),
        is_limit=code == "rateLimited" or retry_after is not None,
        retry_after=retry_after,
    )


def _is_of_the_connection(error: Exception) -> bool:
    """Tell whether there was no answer, or none of an ACME server."""
    connection = (
        requests.RequestException,
        errors.ClientError,
        josepy.errors.Error,
        OSError,
        LookupError,
        ValueError,
    )
    return isinstance(error, connection)


def _words(error: Exception) -> Iterator[str]:
    if isinstance(error, messages.Error):
        yield _problem(error)
        for problem in error.subproblems or ():
            name = f"{problem.identifier.value}: " if problem.identifier else ""
            yield f"({name}{_problem(problem)})"
    elif isinstance(error, errors.IssuanceError):
        yield from _words(error.error)
    elif isinstance(error, errors.ValidationError):
        yield "; ".join(_refusals(error)) or "the authority did not validate the names"
    elif isinstance(error, errors.TimeoutError):
        yield "the authority did not decide in time"
    elif isinstance(error, errors.ClientError) and error.args:
        yield _answer(error.args[0])
    else:
        yield f"{type(error).__name__}: {error}"


def _problem(error: messages.Error) -> str:
    return ": ".join(filter(None, (error.code or error.typ, error.detail or error.title)))


def _refusals(error: errors.ValidationError) -> Iterator[str]:
    for authorization in error.failed_authzrs:
        for challenge in authorization.body.challenges:
            if challenge.error is not None:
                yield f"{authorization.body.identifier.value}: {_problem(challenge.error)}"


def _answer(argument: object) -> str:
    """Describe what the client complains about: an answer of HTTP, or a text."""
    if isinstance(argument, tuple):
        argument = argument[0]
    if isinstance(argument, requests.Response):
        return f"HTTP {argument.status_code} {argument.reason or ''} from {argument.url}"
    return str(argument)
