from __future__ import annotations

from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import COUNTS_IN_USAGE, values_of
from tests.unit.metrics.examples import mail, random_events

MINUTE = 60_000


def counts(delta: Delta) -> dict[object, dict[str, int]]:
    return {cell: dict(numbers) for cell, numbers in delta.cells()}


def delta_of(*events: dict[str, object]) -> Delta:
    delta = Delta()
    for event in events:
        delta.add(event)
    return delta


def test_events_with_the_same_minute_and_values_are_counted_together() -> None:
    message = mail(1, campaign="spring")
    delta = delta_of(
        message.event("injection", 5 * MINUTE),
        message.event("injection", 6 * MINUTE - 1),
        message.event("injection", 6 * MINUTE),
        mail(1).event("injection", 5 * MINUTE),
    )
    numbers = {(cell.minute, cell.values[1]): each for cell, each in delta.cells()}
    assert numbers == {(5, "spring"): {"i": 2}, (6, "spring"): {"i": 1}, (5, ""): {"i": 1}}


def test_packed_deltas_merge_into_their_sum() -> None:
    events = random_events(1, 3, 60, 0, 10 * MINUTE)
    total = delta_of(*events)
    parts = [delta_of(*events[i : i + 7]).pack() for i in range(0, 60, 7)]
    assert counts(Delta.merged(parts)) == counts(total)
    assert counts(Delta.merged([total.pack()])) == counts(total)


def test_recipients_that_usage_has_not_counted_are_kept_by_minute() -> None:
    uncounted = {COUNTS_IN_USAGE: True}
    messages = [mail(1, n, campaign=f"c{n}") for n in range(40)]
    delta = delta_of(
        *(
            each.event("injection", (5 + n % 2) * MINUTE, **uncounted)
            for n, each in enumerate(messages)
        ),
        messages[0].event("delivery", 6 * MINUTE),
    )
    assert delta.recipients == {5: 20, 6: 20}
    assert Delta.merged([delta.pack(), delta.pack()]).recipients == {5: 40, 6: 40}
    parts = list(delta.pack_in_parts(300))
    assert len(parts) > 1
    assert Delta.merged(parts).recipients == delta.recipients
    assert counts(Delta.merged(parts)) == counts(delta)


def test_a_delta_without_counts_is_false() -> None:
    assert not Delta()
    assert not delta_of(mail(1).event("ab_test_completed", 0))
    assert delta_of(mail(1).event("injection", 0))


def test_a_thousand_events_of_one_campaign_pack_into_200_bytes() -> None:
    events = [mail(1, n, campaign="spring").event("injection", n) for n in range(1000)]
    assert len(delta_of(*events).pack()) < 200


def test_half_a_surrogate_pair_does_not_stop_counting() -> None:
    event = mail(1).event("click", 0, target_link_name="\ud83d", target_link_url="https://a.test")
    (label,) = (c.label for c, _ in Delta.merged([delta_of(event).pack()]).cells() if c.facet)
    assert label == "?"


def test_a_cell_has_the_values_of_its_events() -> None:
    event = mail(1, domain="gmail.com").event("injection", 0)
    ((cell, _),) = delta_of(event).cells()
    assert (cell.values, cell.facet, cell.label) == (values_of(event), MAIN, "")


def test_a_delta_too_large_for_an_item_is_packed_in_parts() -> None:
    total = delta_of(*random_events(1, 4, 80, 0, 90 * MINUTE))
    limit = len(total.pack()) // 3
    parts = list(total.pack_in_parts(limit))
    assert len(parts) > 3
    assert max(map(len, parts)) <= limit
    assert counts(Delta.merged(parts)) == counts(total)
    assert list(total.pack_in_parts(10**6)) == [total.pack()]
    assert len(list(total.pack_in_parts(1))) == len(counts(total))
