"""The progress of a transmission is shown from the records of its units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.transmissions import view
from chalicelib.transmissions.model import CANCELLED, SUBMITTED, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NewRecord, Record
from tests.unit.transmissions.examples import CREATED, OPTIONS, make_transmission, meter

pytestmark = pytest.mark.usefixtures("cloud")


def record(chunks: int = 3, state: str = SUBMITTED, **fields: Any) -> Record:
    return Record(make_transmission(**fields), state, chunks * 2, chunks, 2, {})


def generate(*numbers: int, messages: int = 2, failed: int = 0) -> None:
    """Record that chunks were generated and leased for delivery, one a second."""
    for number in numbers:
        unit = WorkUnit(make_transmission().id, str(number))
        work_units.record_generation(unit, CREATED + number * 1000)
        work_units.acquire(unit, counts=(messages, failed))


def test_a_transmission_is_shown_with_all_its_fields() -> None:
    fields = {"campaign_id": "spring", "description": "Spring sale", "return_path": "b@b.test"}
    data = {"metadata": {"m": 1}, "substitution_data": {"s": 2}}
    assert view.transmission_view(record(**fields, **data)) == {
        "id": make_transmission().id,
        "state": "submitted",
        "content": {"template_id": "inline"},
        "rcpt_list_chunk_size": 2,
        "rcpt_list_total_chunks": 3,
        "num_rcpts": 6,
        "num_generated": 0,
        "num_failed_gen": 0,
        "generation_start_time": None,
        "generation_end_time": None,
        "options": OPTIONS,  # those in force, as older versions kept no others
        **fields,
        **data,
    }


def test_a_scheduled_transmission_shows_when_it_starts() -> None:
    views = view.transmission_view(record(start_ms=CREATED + 3_600_000))
    moment = clock.iso_offset(CREATED / 1000 + 3600)
    assert views["options"] == {**OPTIONS, "start_time": moment}


def test_only_the_options_of_the_request_are_shown() -> None:
    for options in ({}, {"open_tracking": True, "ip_pool": "fast"}):
        requested = {"options": options, "content": {}}
        assert view.transmission_view(record(requested=requested))["options"] == options


def test_the_ab_test_is_shown_and_its_template_as_soon_as_it_is_chosen() -> None:
    names = {"ab_test_id": "spring"}
    requested = {"options": {}, "content": names}
    before = record(requested=requested, resolved=False, content=names)
    assert view.transmission_view(before)["content"] == names
    after = record(requested=requested, template_id="welcome")
    content = {"ab_test_id": "spring", "template_id": "welcome"}
    assert view.transmission_view(after)["content"] == content


@pytest.mark.spec("3-t8")
def test_a_transmission_goes_from_submitted_to_generating_to_success() -> None:
    views = [view.transmission_view(record())]
    generate(0)
    views.append(view.transmission_view(record()))
    generate(2, 1, messages=1, failed=1)
    views.append(view.transmission_view(record()))
    assert [each["state"] for each in views] == ["submitted", "Generating", "Success"]
    assert [each["num_generated"] for each in views] == [0, 2, 4]
    assert [each["num_failed_gen"] for each in views] == [0, 0, 2]
    started, ended = "2026-01-31T09:00:00+00:00", "2026-01-31T09:00:02+00:00"
    assert [each["generation_start_time"] for each in views] == [None, started, started]
    assert [each["generation_end_time"] for each in views] == [None, None, ended]


def test_a_started_transmission_is_generating_before_its_first_chunk_is() -> None:
    assert view.transmission_view(record(state="Generating"))["state"] == "Generating"


def test_messages_that_delivery_retries_are_not_counted_again() -> None:
    generate(0)
    unit = WorkUnit(make_transmission().id, "0")
    for following in (unit.deferred, unit.continued, unit.deferred.deferred):
        work_units.acquire(following, counts=(1, 0))
    assert view.transmission_view(record())["num_generated"] == 2


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_cancelled_transmission_stays_cancelled_whatever_was_generated(chunks: int) -> None:
    generate(0)
    assert view.transmission_view(record(chunks, CANCELLED))["state"] == CANCELLED


@pytest.mark.parametrize(
    ("fields", "draft"),
    [
        ({"template_id": "welcome"}, False),
        ({"resolved": False, "content": {"template_id": "welcome"}}, False),
        (
            {
                "resolved": False,
                "content": {"template_id": "welcome", "use_draft_template": True},
            },
            True,
        ),
        (
            {
                "template_id": "welcome",
                "requested": {
                    "content": {"template_id": "welcome", "use_draft_template": True},
                },
            },
            True,
        ),
    ],
)
def test_the_template_is_shown_before_and_after_it_is_resolved(fields: Any, draft: bool) -> None:
    views = view.transmission_view(record(**fields))["content"]
    assert views == {"template_id": "welcome", "use_draft_template": draft}


def test_a_list_shows_a_summary() -> None:
    transmission = make_transmission(
        campaign_id="spring", description="Spring sale", template_id="welcome"
    )
    put(transmission)
    (summaries,) = transmissions.in_account(1)
    generate(0, messages=1, failed=1)
    assert view.summary_view(summaries) == {
        "id": transmission.id,
        "campaign_id": "spring",
        "description": "Spring sale",
        "state": "Generating",
        "content": {"template_id": "welcome", "use_draft_template": False},
        "num_rcpts": 6,
        "num_generated": 1,
        "num_failed_gen": 1,
        "generation_start_time": "2026-01-31T09:00:00+00:00",
    }


def test_the_summary_of_a_transmission_of_a_draft_says_so() -> None:
    content = {"template_id": "welcome", "use_draft_template": True}
    put(replace(make_transmission(), content=content, resolved=False))
    (summaries,) = transmissions.in_account(1)
    assert view.summary_view(summaries)["content"] == content


def put(transmission: Transmission) -> None:
    transmissions.put(
        NewRecord(transmission, transmission.pieces(), SUBMITTED, recipients=6, chunk_size=2),
        meter(),
    )
