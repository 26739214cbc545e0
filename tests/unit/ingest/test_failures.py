from __future__ import annotations

import json

import pytest

from chalicelib.core import clock, signing
from chalicelib.core.errors import NotFound
from chalicelib.core.settings import settings
from chalicelib.ingest import failures
from chalicelib.ingest.failures import MOST_BYTES, Failure, Failures
from tests.unit.ingest.examples import BATCH, NOW

pytestmark = pytest.mark.usefixtures("cloud")


def store_failures(*lines: Failure) -> str:
    """Store failures; return the token of their link."""
    file = Failures()
    for failure in lines:
        file.add(failure)
    file.store(BATCH)
    return failures.link(BATCH).rpartition("/")[2]


def test_the_link_leads_to_the_failures_until_it_expires() -> None:
    token = store_failures(Failure(3, "no good", '{"é": 1}'))
    assert failures.link(BATCH).startswith("http://localhost:8080/api/v1/ingest/failures/")
    end = failures.expiry_ms(BATCH)
    assert end == NOW + settings().events_retention * 1000
    with clock.use(lambda: end / 1000 - 1):
        (line,) = failures.read(token).splitlines()
    assert json.loads(line) == {"line": 3, "error": "no good", "event": '{"é": 1}'}
    with clock.use(lambda: end / 1000), pytest.raises(NotFound):
        failures.read(token)


@pytest.mark.parametrize("token", ["", "x", "é", signing.to_token([1, BATCH.id, 10**15], "link")])
def test_a_link_that_is_not_signed_here_is_not_found(token: str) -> None:
    store_failures(Failure(1, "", ""))
    with pytest.raises(NotFound):
        failures.read(token)


def test_a_file_that_does_not_exist_is_not_found() -> None:
    token = failures.link(BATCH).rpartition("/")[2]
    with clock.use(lambda: NOW / 1000), pytest.raises(NotFound):
        failures.read(token)


def test_a_file_holds_the_first_failures_that_fit_a_reply() -> None:
    token = store_failures(*(Failure(n, "x" * 100, "y" * 5000) for n in range(2000)))
    with clock.use(lambda: NOW / 1000):
        file = failures.read(token)
    assert MOST_BYTES * 0.99 < len(file) <= MOST_BYTES
    lines = [json.loads(line) for line in file.splitlines()]
    assert [each["line"] for each in lines] == list(range(len(lines)))
    assert {len(each["event"]) for each in lines} == {2000}
