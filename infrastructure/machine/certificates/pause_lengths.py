"""Say how long orders wait after a failure: of their own names, or of everyone's."""

from __future__ import annotations

from infrastructure.machine.certificates.order_failure import Failure

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_OWN, _GENERAL = 10 * _MINUTE, _MINUTE
#: The doublings that reach a day from a minute
_MOST_DOUBLINGS = 11


def own_pause(failure: Failure, earlier_failures: int) -> float:
    """Return how long the order that failed waits: 10 minutes, doubling to a day, in seconds.

    An authority that cannot be reached is asked sooner, after a minute, and then at least once an
    hour. In any case it is left alone as long as it wants, at most a day.
    """
    if failure.is_general:
        pause = _doubled(_GENERAL, earlier_failures, longest=_HOUR)
    else:
        pause = _doubled(_OWN, earlier_failures, longest=_DAY)
    return max(pause, min(_wish(failure), _DAY))


def pause_for_everyone(failure: Failure, earlier_failures: int) -> float:
    """Return how long other names wait as well, in seconds; 0 if the failure says nothing of them.

    It is an hour at most. Limits are often those of one name (as many certificates as it may have
    in a week), so that nobody else has to wait for their end.
    """
    if not (failure.is_general or failure.is_limit):
        return 0.0
    pause = _doubled(_GENERAL, earlier_failures, longest=_HOUR)
    return max(pause, min(_wish(failure), _HOUR))


def _wish(failure: Failure) -> float:
    if failure.retry_after is not None:
        return failure.retry_after
    return _HOUR if failure.is_limit else 0.0


def _doubled(first: float, times: int, *, longest: float) -> float:
    return min(first * 2 ** min(times, _MOST_DOUBLINGS), longest)
