"""Pause a path when a provider says that it gets too much mail, or dislikes the source address.

Such an answer (421 with a status 4.7.x, or a 4xx reply with the provider's own words) is about all
mail of the address, not about one message. The first pause is as long as the data file says. Each
further refusal doubles it, up to ``LONGEST_PAUSE``; after a day without one it begins anew. After a
pause the path goes on at half of its rate for each refusal, and at its whole rate an hour later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from chalicelib.core import clock
from chalicelib.delivery.outcome import Outcome, Retry
from chalicelib.delivery.shaping.providers import Answer, providers
from chalicelib.delivery.shaping.store import Pause

LONGEST_PAUSE = 3_600.0
SLOW_SECONDS = 3_600.0
#: Messages a second after a pause, where the group has no rate of its own, before it is halved
RATE_AFTER_PAUSE = 20.0
_MOST_HALVINGS = 6
# A path can be refused for months, and a float has no room for thousands of doublings
_MOST_DOUBLINGS = 20
_MOST_ANSWERS = 5
#: Seconds of the first pause after a 421 with a status 4.7.x whose words are not known
PLAIN_PAUSE = 60.0
_CLOSING = 421
_POLICY = re.compile(r"4\.7\.\d")
# RFC 3463: subject 1 is an address, subject 2 a mailbox
_ABOUT_ONE_ADDRESS = re.compile(r"4\.[12]\.\d")
_INTERNAL = "[internal]"
# The senders of other accounts see the answers as well
_ADDRESS = re.compile(r"<?[^\s<>@]{1,64}@[\w.-]+>?")
# Words of a host that asks one message to come back: that is how greylisting works
_ABOUT_ONE_MESSAGE = ("greylist", "graylist", "grey list", "mailbox", "recipient")


def pause_of(group: str, outcome: Outcome) -> float | None:
    """Return the seconds of the first pause that an answer asks for; ``None`` if it asks for none.

    What this side says of a connection that broke is no answer.
    """
    if not isinstance(outcome, Retry) or _INTERNAL in outcome.reply:
        return None
    text = outcome.reply.lower()
    own = [answer for answer in providers().answers if group in answer.groups]
    general = [answer for answer in providers().answers if not answer.groups]
    if seconds := _pause_for(text, own):
        return seconds
    if _ABOUT_ONE_ADDRESS.match(text) or any(words in text for words in _ABOUT_ONE_MESSAGE):
        return None
    if seconds := _pause_for(text, general):
        return seconds
    return PLAIN_PAUSE if outcome.code == _CLOSING and _POLICY.match(text) else None


def _pause_for(text: str, answers: Iterable[Answer]) -> float | None:
    return next(
        (each.pause for each in answers if any(phrase in text for phrase in each.phrases)), None
    )


def next_pause(path: str, before: Pause | None, outcome: Outcome, first: float) -> Pause:
    """Return the pause of a path after an answer; refusals during a pause do not prolong it."""
    now_ms = clock.now_ms()
    text = _ADDRESS.sub("<address>", f"{outcome.code} {outcome.reply}")
    if before is None:
        return Pause(path, now_ms + int(first * 1000), 1, (text,))
    answers = (text, *(each for each in before.answers if each != text))[:_MOST_ANSWERS]
    if now_ms < before.until_ms:
        return replace(before, answers=answers)
    seconds = min(LONGEST_PAUSE, first * 2 ** min(before.failures, _MOST_DOUBLINGS))
    return Pause(path, now_ms + int(seconds * 1000), before.failures + 1, answers)


def rate_in_force(rate: float, pause: Pause | None) -> float:
    """Return the messages a second that a path may have now; 0: no limit."""
    if pause is None or clock.now_ms() > pause.until_ms + SLOW_SECONDS * 1000:
        return rate
    return float((rate or RATE_AFTER_PAUSE) / 2 ** min(pause.failures, _MOST_HALVINGS))
