"""Keep by which chance the catching port refuses what a client does (Mailpit's chaos).

The triggers are in a small file in the mailbox's directory: the API writes it and the catching port
reads it. Without the file, as usual, a look at it is one system call.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from infrastructure.local.releasing.start import CHAOS_FILE

SENDER, RECIPIENT, AUTHENTICATION = STAGES = ("Sender", "Recipient", "Authentication")
#: Codes where none is given, as Mailpit has them
USUAL_CODES: Final = {SENDER: 451, RECIPIENT: 451, AUTHENTICATION: 535}
LOWEST_CODE, HIGHEST_CODE = 400, 599

_OFF = ("", "0", "false")
_ON = ("1", "true")
_TRIGGER = re.compile(r"([A-Za-z]{1,20}):([0-9]{3}):([0-9]{1,3})")
_STAGE_NAMES = {
    "sender": SENDER,
    "recipient": RECIPIENT,
    "recipients": RECIPIENT,
    "auth": AUTHENTICATION,
    "authentication": AUTHENTICATION,
}


class BadTrigger(ValueError):
    """A trigger cannot be used; the message is Mailpit's."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The SMTP code of refusals, and how many of a hundred are refused."""

    code: int
    probability: int = 0

    def __post_init__(self) -> None:
        """Check the numbers; raises :class:`BadTrigger`."""
        if not LOWEST_CODE <= self.code <= HIGHEST_CODE:
            raise BadTrigger("error code must be between 400 and 599")
        if not 0 <= self.probability <= 100:
            raise BadTrigger("probability must be between 0 and 100")


@dataclass(frozen=True, slots=True)
class Triggers:
    """The triggers, by the stage of a session at which they apply."""

    by_stage: Mapping[str, Trigger]

    @classmethod
    def of(cls, triggers: Mapping[str, Trigger]) -> Self:
        """Return these triggers, and none at the other stages."""
        return cls({stage: triggers.get(stage, Trigger(USUAL_CODES[stage])) for stage in STAGES})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the JSON of Mailpit's API; raises :class:`BadTrigger`.

        A stage that is left out never refuses. Names are taken in any case, as Go does.
        """
        by_name = {name.lower(): value for name, value in document.items()}
        return cls.of({stage: _trigger(stage, by_name.get(stage.lower())) for stage in STAGES})

    def as_json(self) -> dict[str, dict[str, int]]:
        """Return the triggers in the JSON of Mailpit's API."""
        return {
            stage: {"ErrorCode": each.code, "Probability": each.probability}
            for stage, each in self.by_stage.items()
        }


def read_setting(text: str) -> Triggers | None:
    """Read ``CHAOS``: ``true``, ``false``, or triggers such as ``Sender:451:10,Recipient:550:5``.

    Returns ``None`` if chaos is off. Raises ValueError with one line for the user.
    """
    if text.lower() in _OFF:
        return None
    if text.lower() in _ON:
        return Triggers.of({})
    triggers = {}
    for part in text.split(","):
        match = _TRIGGER.fullmatch(part.strip())
        stage = _STAGE_NAMES.get(match[1].lower()) if match else None
        if match is None or stage is None:
            example = "true, nor triggers such as Sender:451:10"
            raise ValueError(f"CHAOS={text!r} is neither {example}")
        try:
            triggers[stage] = Trigger(int(match[2]), int(match[3]))
        except BadTrigger as error:
            raise ValueError(f"CHAOS={text!r}: {error}") from None
    return Triggers.of(triggers)


class ChaosFile:
    """The triggers in the file of a data directory. Any thread may call it.

    ``chance`` returns a number from 0 up to its argument, excluding that.
    """

    def __init__(self, data_dir: Path, chance: Callable[[int], int] = secrets.randbelow) -> None:
        self._path = data_dir / "mail" / CHAOS_FILE
        self._chance = chance
        self._lock = threading.Lock()
        self._state: tuple[int, ...] = ()
        self._triggers: Triggers | None = None

    def fault(self, stage: str) -> int | None:
        """Return the SMTP code by which to refuse at a stage now; ``None`` for no refusal."""
        triggers = self.triggers()
        if triggers is None:
            return None
        trigger = triggers.by_stage[stage]
        return trigger.code if self._chance(100) < trigger.probability else None

    def triggers(self) -> Triggers | None:
        """Return the triggers in force; ``None`` if chaos is off."""
        try:
            file = os.stat(self._path)
            state = (file.st_ino, file.st_mtime_ns, file.st_size)
            with self._lock:
                if state != self._state:
                    self._triggers = _read_file(self._path)
                    self._state = state
                return self._triggers
        except FileNotFoundError:
            return None

    def set(self, triggers: Triggers) -> None:
        """Have other triggers in force from the next stage of any session on."""
        content = {stage: asdict(each) for stage, each in triggers.by_stage.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f"{CHAOS_FILE}.{os.getpid()}.{threading.get_ident()}")
        fresh.write_text(json.dumps(content))
        fresh.replace(self._path)


def _read_file(path: Path) -> Triggers:
    content = json.loads(path.read_bytes())
    return Triggers.of({stage: Trigger(**fields) for stage, fields in content.items()})


def _trigger(stage: str, value: Any) -> Trigger:
    if value is None:
        return Trigger(USUAL_CODES[stage])
    if not isinstance(value, dict):
        raise BadTrigger(f"{stage} must be an object with ErrorCode and Probability")
    by_name = {name.lower(): number for name, number in value.items()}
    code, probability = by_name.get("errorcode") or 0, by_name.get("probability") or 0
    for number in (code, probability):
        if isinstance(number, bool) or not isinstance(number, int):
            raise BadTrigger(f"ErrorCode and Probability of {stage} must be whole numbers")
    return Trigger(code or USUAL_CODES[stage], probability)
