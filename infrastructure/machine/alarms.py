"""Tell the administrator by mail what needs a hand, once when it begins and once when it is over.

What lasts is told again every day. Each alarm is a log line too. The mail leaves through the
service itself, as account 0.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chalicelib.core.settings import settings
from chalicelib.transmissions import system_mail
from infrastructure.local.supervisor.private_files import replace_private

#: Returns what is wrong at a time, in seconds: a text by the name of each alarm
Condition = Callable[[float], Mapping[str, str]]

FILE = "alarms.json"
LOOK_SECONDS = 60.0
AGAIN_SECONDS = 86_400.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Alarm:
    """What is wrong since when, and when the administrator was told, in seconds."""

    text: str
    since: float
    told_at: float


class Alarms:
    """Watches conditions. Open alarms are kept in a file, so that a restart tells none twice."""

    def __init__(self, admin_email: str, data_dir: Path, conditions: Sequence[Condition]) -> None:
        self._admin_email = admin_email
        self._path = data_dir / FILE
        self._conditions = conditions
        self._next_look = 0.0

    def tend(self, now: float) -> None:
        """Look at all conditions, at most once a minute."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        self.look(now)

    def look(self, now: float) -> None:
        """Look at all conditions, and tell what has changed."""
        texts: dict[str, str] = {}
        for condition in self._conditions:
            try:
                texts |= condition(now)
            except Exception:
                _log.exception("a condition cannot be looked at")
        before = read(self._path)
        after = {
            name: replace(before[name], text=text) if name in before else Alarm(text, now, 0.0)
            for name, text in texts.items()
        }
        for name, alarm in after.items():
            if now - alarm.told_at >= AGAIN_SECONDS:
                self._tell(alarm.text, "is wrong" if name not in before else "is still wrong")
                after[name] = replace(alarm, told_at=now)
        for name in before.keys() - after.keys():
            self._tell(before[name].text, "is over")
        if after != before:
            alarms = {name: asdict(alarm) for name, alarm in after.items()}
            replace_private(self._path, json.dumps(alarms, indent=1))

    def _tell(self, text: str, state: str) -> None:
        is_over = state == "is over"
        log = _log.info if is_over else _log.warning
        log("alarm %s: %s", state, text)
        if not self._admin_email:
            return
        name = settings().system_domain
        subject = f"{name}: {'over: ' if is_over else ''}{text.partition('. ')[0]}"
        body = f"This {state} at {name}:\n\n  {text}\n"
        try:
            system_mail.send(to=self._admin_email, subject=subject, text=body)
        except Exception:
            _log.exception("the administrator could not be told")


def read(path: Path) -> dict[str, Alarm]:
    """Return the open alarms of a file by their names."""
    try:
        return {name: Alarm(**alarm) for name, alarm in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):  # none, or torn
        return {}
