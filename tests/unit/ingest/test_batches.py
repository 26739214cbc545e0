from __future__ import annotations

import gzip
import json
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core import clock, queues
from chalicelib.core.scope import Scope
from chalicelib.ingest import batches
from chalicelib.ingest.batches import LONGEST_LINE, MOST_BYTES, MOST_UNPACKED, lines
from chalicelib.ingest.model import IngestBatch
from tests.fake_cloud import queued, stored_objects
from tests.unit.ingest.examples import NOW, batch_body, large_events, outside_event
from tests.unit.linear_time import assert_growth
from tests.unit.refusals import refusal

SCOPE = Scope(1, 0)


def refused_batch(status: int, body: bytes) -> str:
    error = refusal(batches.accept, SCOPE, body)
    assert error.status == status
    return str(error)


@pytest.mark.parametrize("scope", [SCOPE, Scope(1, 7)])
@pytest.mark.usefixtures("cloud")
def test_a_batch_is_queued_with_its_owner(scope: Scope) -> None:
    with clock.use(lambda: NOW / 1000):
        name = batches.accept(scope, batch_body(outside_event(), outside_event(1)))
    (body,) = queued("ingest")
    message = queues.read(body)
    assert IngestBatch(**message.head) == IngestBatch(name, 1, scope.owner, NOW)
    assert [json.loads(line) for line in lines(message.payload())] == [
        outside_event(),
        outside_event(1),
    ]


@pytest.mark.usefixtures("cloud")
def test_a_large_batch_is_stored_in_the_bucket() -> None:
    batches.accept(SCOPE, batch_body(*large_events()))
    assert len(stored_objects("queue/ingest/")) == 1


@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 200), max_size=3),
    st.booleans(),
)
@hypothesis_settings(max_examples=150)
def test_any_gzip_members_contain_the_same_lines(
    texts: list[bytes], cuts: list[int], plain: bool
) -> None:
    text = b"\n".join(texts)
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(bounds)]
    body = text if plain else b"".join(gzip.compress(part) for part in parts)
    if plain and body.startswith(b"\x1f\x8b"):
        return
    assert list(lines(body)) == (texts[:-1] if texts and texts[-1] == b"" else texts)


def test_lines_are_found_across_the_steps_of_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_STEP", 7)
    monkeypatch.setattr(batches, "_PACKED_STEP", 5)
    text = b"\n".join(b"x" * n for n in range(40))
    assert list(lines(gzip.compress(text))) == text.split(b"\n")
    assert list(lines(text)) == text.split(b"\n")


@pytest.mark.parametrize(
    "body",
    [b"", b"\n \n\n", gzip.compress(b""), gzip.compress(b" \n")],
    ids=["nothing", "blank", "packed-nothing", "packed-blank"],
)
def test_a_batch_without_events_is_refused(body: bytes) -> None:
    assert "no events" in refused_batch(400, body)


@pytest.mark.parametrize(
    "body",
    [
        batch_body(outside_event())[:-9],
        batch_body(outside_event())[:12],
        b"\x1f\x8b",
        b"\x1f\x8b" + b"\x00" * 50,
        batch_body(outside_event()) + b"\x1f\x8bxx",
        batch_body(outside_event())[:-5] + b"wrong",
    ],
    ids=["cut", "cut-early", "magic-alone", "zeros", "bad-second-member", "wrong-length"],
)
def test_a_damaged_batch_is_refused(body: bytes) -> None:
    assert "cannot be unpacked" in refused_batch(400, body)


@pytest.mark.spec("7-t7")
def test_a_batch_that_is_too_large_is_refused() -> None:
    assert str(MOST_BYTES) in refused_batch(413, b"x" * (MOST_BYTES + 1))
    bomb = gzip.compress(b"\n" * (MOST_UNPACKED + 1))
    assert len(bomb) < 100_000
    assert str(MOST_UNPACKED) in refused_batch(413, bomb)


@pytest.mark.parametrize("start", [b"", b"{}\n", b"x" * 300_000])
def test_an_event_that_is_too_large_is_refused(start: bytes) -> None:
    assert str(LONGEST_LINE) in refused_batch(413, start + b"x" * (LONGEST_LINE + 1))


def test_a_body_that_is_not_deflated_is_refused() -> None:
    twice = zlib.compress(b"x", 9)
    assert refused_batch(400, b"\x1f\x8b\x08\x00" + twice)


def test_a_file_of_many_members_is_read_in_linear_time() -> None:
    def read_members(count: int) -> None:
        assert list(lines(gzip.compress(b"") * count + gzip.compress(b"one"))) == [b"one"]

    # Copying the rest of the file for each member would take 64 times longer
    assert_growth(read_members, 31_250, 250_000)
