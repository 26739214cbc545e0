from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import logs
from chalicelib.core.settings import settings

log = logging.getLogger("postfinch.test")


@pytest.fixture
def json_format(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The setting that the deployed functions have."""
    monkeypatch.setenv("LOG_FORMAT", "json")
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def stream(json_format: None) -> Iterator[io.StringIO]:
    """What a logger writes whose form is that of the functions."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    yield stream
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)
    log.propagate = True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object(stream: io.StringIO) -> None:
    log.warning("two\nlines of %s", "text")
    (line,) = lines(stream)
    assert line["level"] == "WARNING"
    assert line["message"] == "two\nlines of text"
    assert line["service"] == "postfinch"
    assert line["location"].startswith("postfinch.test:")
    assert line["timestamp"].endswith("Z")


def test_lines_carry_the_ids_of_the_blocks_around_them(stream: io.StringIO) -> None:
    with logs.bound(request_id="r", account_id=1):
        with logs.bound(transmission_id="t", subaccount_id=None):
            log.info("inner")
        log.info("outer")
    log.info("outside")
    inner, outer, outside = lines(stream)
    assert (inner["request_id"], inner["account_id"], inner["transmission_id"]) == ("r", 1, "t")
    assert "subaccount_id" not in inner
    assert "transmission_id" not in outer
    assert "request_id" not in outside


def test_a_note_is_in_the_lines_of_the_innermost_block(stream: io.StringIO) -> None:
    with logs.bound(request_id="r"):
        logs.note(route="/x")
        log.info("noted")
    with logs.bound(request_id="s"):
        log.info("other")
    inside, other = lines(stream)
    assert inside["route"] == "/x"
    assert "route" not in other


def test_a_note_outside_of_every_block_is_lost(stream: io.StringIO) -> None:
    logs.note(route="/x")
    log.info("nothing")
    assert "route" not in lines(stream)[0]


def test_an_exception_is_logged_with_its_traceback(stream: io.StringIO) -> None:
    try:
        raise KeyError("k")
    except KeyError:
        log.exception("failed")
    (line,) = lines(stream)
    assert "KeyError: 'k'" in line["exception"]


@pytest.mark.parametrize(
    "address", ["ann@inbox.test", "Ann.O'Hara+tag@inbox.test", "用户@例子.test", "x" * 64 + "@a.b"]
)
def test_an_address_that_an_exception_quotes_is_left_out(stream: io.StringIO, address: str) -> None:
    try:
        raise ValueError(f"cannot send to <{address}>, {address!r} or {{'rcpt_to': '{address}'}}")
    except ValueError as error:
        log.exception("failed: %s", error)
    (line,) = lines(stream)
    assert address.rpartition("@")[2] not in json.dumps(line, ensure_ascii=False)
    assert line["message"].startswith("failed: cannot send to <(address)>, ")
    assert "ValueError: cannot send to" in line["exception"]


def test_counts_are_metrics_in_the_embedded_format(stream: io.StringIO) -> None:
    counts = {"Requests": 1, "Faults": 0, "RequestTime": 2.5}
    logs.measured(log, "answered", counts, dimensions={"Queue": "q"})
    (line,) = lines(stream)
    assert (line["Requests"], line["RequestTime"], line["Queue"]) == (1, 2.5, "q")
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Postfinch"
    assert directive["Dimensions"] == [["Stage", "Queue"]]
    assert directive["Metrics"] == [
        {"Name": "Requests", "Unit": "Count"},
        {"Name": "Faults", "Unit": "Count"},
        {"Name": "RequestTime", "Unit": "Milliseconds"},
    ]
    assert line["Faults"] == 0
    assert line["Stage"] == settings().stage
    assert line["_aws"]["Timestamp"] > 1_700_000_000_000


def test_a_routine_line_leaves_out_counts_of_zero_and_units(stream: io.StringIO) -> None:
    counts = {"Requests": 1, "Faults": 0, "RequestTime": 2.5}
    logs.measured(log, "answered", counts, dimensions={"Queue": "q"}, routine=True)
    (line,) = lines(stream)
    assert "Faults" not in line
    assert line["_aws"]["CloudWatchMetrics"][0]["Metrics"] == [
        {"Name": "Requests"},
        {"Name": "RequestTime", "Unit": "Milliseconds"},
    ]


def test_a_routine_line_has_fractions_of_short_times_only(stream: io.StringIO) -> None:
    times = {"RequestTime": 9.9, "BatchTime": 123.4}
    logs.measured(log, "answered", times, dimensions={}, routine=True)
    (line,) = lines(stream)
    assert (line["RequestTime"], line["BatchTime"]) == (9.9, 123)


def test_counts_are_not_logged_below_the_level_info(stream: io.StringIO) -> None:
    log.setLevel(logging.WARNING)
    logs.measured(log, "answered", {"Requests": 1}, dimensions={})
    assert stream.getvalue() == ""


def test_routine_lines_are_left_out_of_text_logs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        logs.measured(log, "answered", {"Requests": 1}, dimensions={}, routine=True)
        logs.measured(log, "in the last minute", {"Requests": 60}, dimensions={})
    assert [record.message for record in caplog.records] == ["in the last minute"]


def test_the_first_call_of_a_process_is_a_cold_start() -> None:
    logs._cold[0] = True
    context = SimpleNamespace(function_name="f", aws_request_id="id")
    assert logs.of_invocation(context) == {
        "function_name": "f",
        "function_request_id": "id",
        "cold_start": True,
    }
    assert logs.of_invocation(None)["cold_start"] is None


@pytest.mark.cost
def test_a_routine_line_costs_less_than_half_a_kilobyte(stream: io.StringIO) -> None:
    context = SimpleNamespace(
        function_name="postfinch-prod-Generation-0123456789ab",
        aws_request_id="8f507cfc-d6b2-5d11-8c66-20a3e0a0a0a0",
    )
    counts = {"Messages": 1, "FailedMessages": 0, "BatchTime": 12.5}
    ids = {"queue": "postfinch-prod-generation", "transmission_id": "191930000000000001"}
    with logs.bound(**ids, **logs.of_invocation(context)):
        dimensions = {"Queue": ids["queue"]}
        logs.measured(log, "handled a batch", counts, dimensions=dimensions, routine=True)
    assert len(stream.getvalue()) < 500 or settings().log_format != "json"


def test_the_root_logger_is_left_alone_for_text() -> None:
    before = list(logging.getLogger().handlers)
    logs.configure()
    assert logging.getLogger().handlers == before


def test_the_root_logger_writes_json_lines_with_log_format_json(json_format: None) -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        logs.configure()
        (handler,) = root.handlers
        assert isinstance(handler.formatter, logs.JsonLines)
        assert root.level == logging.INFO
    finally:
        root.handlers[:] = before
        root.setLevel(level)
