"""Suppression that follows from events."""

from __future__ import annotations

import pytest

from chalicelib.core.scope import Scope
from chalicelib.events.model import make
from chalicelib.recording.suppress import suppress
from chalicelib.suppression.store.items import entries_of

pytestmark = pytest.mark.usefixtures("cloud")


def test_an_address_that_is_too_long_in_lower_case_stops_nothing() -> None:
    recipients = [("\u023a" * 32 + "@x.test").lower(), "ann@x.test"]
    suppress(
        make("spam_complaint", {"customer_id": "1", "message_id": str(n), "rcpt_to": each}, 1)
        for n, each in enumerate(recipients)
    )
    for each in recipients:
        (entry,) = entries_of(Scope(1, 0), each)
        assert (entry.type, entry.source) == ("non_transactional", "Spam Complaint")
