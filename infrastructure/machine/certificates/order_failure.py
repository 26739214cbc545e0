"""Say why an order failed, and whom the failure concerns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no certificate.

    ``is_general`` says that no name gets one now, such as when the authority cannot be reached;
    ``is_limit`` that the authority wants fewer orders. ``retry_after`` is how long it wants to be
    left alone, in seconds.
    """

    text: str
    is_general: bool = False
    is_limit: bool = False
    retry_after: float | None = None


class OrderFailed(Exception):
    """The authority gave no certificate."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure
