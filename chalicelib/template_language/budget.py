"""What a render may spend before it is stopped: steps, characters and processor time.

A step is about one token of a tag that is run. Text outside loops is not charged: it is bounded
by the template itself. Loops pay for every turn, branches inside loops when they are taken, and
every printed value pays for its characters.
"""

from __future__ import annotations

from time import thread_time

from .errors import Fault

STEPS = 5_000_000
CHARACTERS = 20_000_000  # the size of the largest message there is
SECONDS = 2.0
_STRIDE = 10_000  # steps between two looks at the clock: a few milliseconds


class Budget:
    """Allowance for one part, or for several parts when it is passed to each.

    ``steps`` and ``characters`` are what is left and shared; ``seconds`` (of processor time of
    the thread) is for each part anew. Going below zero raises Fault.
    """

    __slots__ = ("_checkpoint", "_deadline", "characters", "seconds", "steps")

    def __init__(
        self, *, steps: int = STEPS, characters: int = CHARACTERS, seconds: float = SECONDS
    ) -> None:
        self.steps = steps
        self.characters = characters
        self.seconds = seconds

    def start(self) -> None:
        """Start the clock of one part."""
        self._checkpoint = self.steps - _STRIDE
        self._deadline = thread_time() + self.seconds

    def work(self, steps: int) -> None:
        """Pay for steps, and look at the clock now and then."""
        self.steps -= steps
        if self.steps < self._checkpoint:
            self._checkpoint = self.steps - _STRIDE
            self.check_clock()
            if self.steps < 0:
                raise Fault("the template takes too many steps")

    def write(self, characters: int) -> None:
        """Pay for output."""
        self.characters -= characters
        if self.characters < 0:
            raise Fault("the output is too long")

    def check_clock(self) -> None:
        """Raise when the part has had its time."""
        if thread_time() > self._deadline:
            raise Fault("the template takes too long")
