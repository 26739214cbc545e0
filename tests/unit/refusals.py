"""Return the error that a call raises, with its status, code and error objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.core.errors import ServiceError


def refusal(call: Callable[..., object], *arguments: Any, **fields: Any) -> ServiceError:
    """Return the error with which ``call`` refuses these arguments."""
    with pytest.raises(ServiceError) as error_info:
        call(*arguments, **fields)
    return error_info.value


def refusal_code(
    call: Callable[..., object], *arguments: Any, **fields: Any
) -> tuple[int, str | None]:
    """Return the status and the first code with which ``call`` refuses these arguments."""
    error = refusal(call, *arguments, **fields)
    return error.status, error.errors[0].get("code")


def refusal_errors(
    call: Callable[..., object], *arguments: Any, **fields: Any
) -> tuple[int, list[dict[str, Any]]]:
    """Return the status and the error objects with which ``call`` refuses these arguments."""
    error = refusal(call, *arguments, **fields)
    return error.status, error.errors
