"""Errors as ``/suppression-list`` and ``/data-privacy`` tell them: a message, and no code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chalicelib.core.errors import ApiErrors, ServiceError


@contextmanager
def bare_errors() -> Iterator[None]:
    """Tell what the service's common readers refuse by its message alone."""
    try:
        yield
    except ServiceError as error:
        bare = [
            {"message": each.get("description") or each["message"]} if "code" in each else each
            for each in error.errors
        ]
        raise ApiErrors(error.status, bare, headers=error.headers) from None
