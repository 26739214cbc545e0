"""Decide when messages may leave for a group, by its limits and by what its hosts have answered.

The state is in DynamoDB, and all processes and machines share it. A process asks once for all
messages of a unit that leave by the same path. A group without a rate costs no request; the pauses
of all paths are read together, every ``_PAUSES_SECONDS``.
"""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chalicelib.core import caches, clock
from chalicelib.delivery.outcome import Outcome, internal
from chalicelib.delivery.shaping import backoff, pacing, store
from chalicelib.delivery.shaping.limits import limits_of
from chalicelib.delivery.shaping.pacing import Lane, Pace
from chalicelib.delivery.shaping.store import Backlog, Pause

#: Messages that wait for less than this are on their way, and not held back
SHORT_WAIT = 10.0

_PAUSES_SECONDS = 2.0
_BACKLOG_SECONDS = 10.0
_LONGEST_WAIT = 900.0
_MOST_CONFLICTS = 8
_SMALL_SENDS = "small"


@dataclass(frozen=True, slots=True)
class PathHold:
    """Why messages cannot leave now, and the seconds until their unit is tried again.

    If it ``lasts``, the messages get a ``delay`` event.
    """

    path: str
    reason: str
    seconds: float
    lasts: bool


@dataclass(frozen=True, slots=True)
class DepartureGrant:
    """The times (``clock.monotonic``) at which messages may leave, and a hold for the others.

    A time of 0 is any time: a message without a limit is never late.
    """

    times: list[float]
    hold: PathHold | None = None


class Shaper:
    """The view of one process on all paths."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses: dict[str, Pause] = {}
        self._pauses_until = 0.0
        self._paces: dict[str, Pace] = {}
        self._path_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._backlogs: dict[str, tuple[float, dict[bool, tuple[int, int]]]] = {}

    def ask(self, path: str, lane: Lane, count: int, *, small: bool = False) -> DepartureGrant:
        """Ask for ``count`` messages of a lane to leave by a path.

        What finds no slot of a ``small`` send does not wait for bulk mail. Small sends of an
        account share one lane, since the state of a path may not grow with their number.
        """
        if small:
            lane = Lane(lane.account, _SMALL_SENDS)
        group, _ = store.group_of_path(path)
        pause = self._pause_of(path)
        now_ms = clock.now_ms()
        if pause and now_ms < pause.until_ms:
            seconds = (pause.until_ms - now_ms) / 1000
            return DepartureGrant(
                [], PathHold(path, _reason_of(group, pause), seconds + _jitter(), lasts=True)
            )
        rate = backoff.rate_in_force(limits_of(group).rate, pause)
        if not rate:
            return DepartureGrant([0.0] * count)
        times = self._reserve(_pace_path(path), rate, lane, count)
        if len(times) == count:
            return DepartureGrant(times)
        count -= len(times)
        return DepartureGrant(times, self._hold(path, rate, count, small=small))

    def wait_of(self, path: str) -> float:
        """Return for how long bulk mail of a path waits at least, from what this process knows."""
        pause = self._pause_of(path)
        now_ms = clock.now_ms()
        if pause and now_ms < pause.until_ms:
            return (pause.until_ms - now_ms) / 1000 + _jitter()
        pace = self._paces.get(_pace_path(path))
        if pace is None:
            return 0.0
        group, _ = store.group_of_path(path)
        rate = backoff.rate_in_force(limits_of(group).rate, pause)
        if not rate or not pacing.wait_ms(pace, rate, now_ms):
            return 0.0
        return self._hold(path, rate, 0, small=False).seconds

    def is_paused(self, path: str) -> bool:
        """Tell whether a path is paused, from what this process knows."""
        pause = self._pauses.get(path)
        return pause is not None and clock.now_ms() < pause.until_ms

    def learn(self, path: str, outcome: Outcome) -> None:
        """Pause a path if its host's answer is about all mail of the source address."""
        group, _ = store.group_of_path(path)
        first = backoff.pause_of(group, outcome)
        if first is None:
            return
        with self._lock:
            before = self._known_pauses().get(path)
            pause = backoff.next_pause(path, before, outcome, first)
            self._pauses[path] = pause
        if pause != before and not store.put_pause(pause):
            with self._lock:
                self._pauses_until = 0.0

    def _pause_of(self, path: str) -> Pause | None:
        with self._lock:
            return self._known_pauses().get(path)

    def _known_pauses(self) -> dict[str, Pause]:
        if clock.monotonic() >= self._pauses_until:
            self._pauses = store.pauses()
            self._pauses_until = clock.monotonic() + _PAUSES_SECONDS
        return self._pauses

    def _reserve(self, path: str, rate: float, lane: Lane, count: int) -> list[float]:
        """Reserve slots and return their times (``clock.monotonic``).

        A conflict with another process brings the pace in force.
        """
        with self._path_locks[path]:
            pace = self._paces.get(path) or store.pace_of(path)
            # Together, and not after a request: a slot's time may not move while it is reserved
            now_ms, now = clock.now_ms(), clock.monotonic()
            for _ in range(_MOST_CONFLICTS):
                after, slots = pacing.reserve(pace, rate, lane, count, now_ms)
                if not slots:
                    break
                newer = store.replace_pace(path, pace, after)
                if newer is None:
                    self._paces[path] = replace(after, revision=pace.revision + 1)
                    return [now + (slot - now_ms) / 1000 for slot in slots]
                pace = newer
            self._paces[path] = pace
            return []

    def _hold(self, path: str, rate: float, count: int, *, small: bool) -> PathHold:
        """Return the hold of what found no slot.

        A unit comes again at a random time, so that all units together ask often enough to use
        every slot, however many they are. Small sends have only each other before them.
        """
        units, messages = self._backlog(path, count, small=small)
        pace = self._paces.get(_pace_path(path)) or Pace()
        seconds = pacing.wait_ms(pace, rate, clock.now_ms()) / 1000
        lasts = max(seconds, messages / rate) > SHORT_WAIT
        questions = max(1.0, 2 * rate * units / messages)
        seconds = max(seconds, random.uniform(0, 2) * units / questions)
        group, _ = store.group_of_path(path)
        reason = internal("4.4.5", f"{rate:g} messages a second may leave for {group}")
        return PathHold(path, reason, min(_LONGEST_WAIT, max(seconds, 1.0)), lasts)

    def _backlog(self, path: str, count: int, *, small: bool) -> tuple[int, int]:
        """Return how many units and messages of a path are held back, with ``count`` of a new unit.

        They were counted lately, and those that this process has held back since are added. Before
        a small send are other small sends only, before bulk mail are both.
        """
        until, totals = self._backlogs.get(path, (0.0, {}))
        if clock.monotonic() >= until:
            backlogs = store.backlogs_of(path)
            until = clock.monotonic() + _BACKLOG_SECONDS
            totals = {is_small: _totals(backlogs, small=is_small) for is_small in (False, True)}
            self._backlogs[path] = (until, totals)
        for is_small in {False, small}:
            units, messages = totals[is_small]
            totals[is_small] = (units + bool(count), messages + count)
        units, messages = totals[small]
        return max(1, units), max(1, messages)


_shaper = Shaper()


def shaper() -> Shaper:
    """Return the shaper of this process."""
    return _shaper


@caches.register
def forget() -> None:
    """Forget what this process knows of all paths."""
    global _shaper
    _shaper = Shaper()


def _pace_path(path: str) -> str:
    """Return the path whose slots a path uses: with shared limits that of all source addresses."""
    group, _ = store.group_of_path(path)
    return store.path_of(group, None) if limits_of(group).is_shared else path


def _totals(backlogs: Sequence[Backlog], *, small: bool) -> tuple[int, int]:
    """Return the units and messages of all backlogs, or of small sends only."""
    counts = [each.messages for each in backlogs if each.is_small or not small]
    return len(counts), sum(counts)


def _reason_of(group: str, pause: Pause) -> str:
    answer = pause.answers[0] if pause.answers else ""
    return internal("4.4.5", f"{group} asked to wait: {answer}")


def _jitter() -> float:
    return random.uniform(0.5, 5.0)
