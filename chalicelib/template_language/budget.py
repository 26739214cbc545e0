"""Limit what a render may spend: steps, characters, snippets and processor time.

A step is about one token of a tag that runs. Text outside loops is free, because the template
itself limits it. Loops are charged for every iteration, branches inside loops when they are taken,
and every printed value for its characters.
"""

from __future__ import annotations

from time import thread_time

from .errors import Fault

STEPS = 5_000_000
CHARACTERS = 20_000_000  # the size of the largest message
SNIPPETS = 5  # calls in all parts of a template
SECONDS = 2.0
_STRIDE = 10_000  # steps between two checks of the time: a few milliseconds


class Budget:
    """Allowance for one part, or for several parts when it is passed to each.

    ``steps``, ``characters`` and ``snippets`` are the remaining amounts, shared by all parts;
    ``seconds`` (processor time of the thread) applies to each part separately. Going below zero
    raises Fault.
    """

    __slots__ = ("_checkpoint", "_deadline", "characters", "seconds", "snippets", "steps")

    def __init__(
        self, *, steps: int = STEPS, characters: int = CHARACTERS, seconds: float = SECONDS
    ) -> None:
        self.steps = steps
        self.characters = characters
        self.snippets = SNIPPETS
        self.seconds = seconds

    def start(self) -> None:
        """Start the time of one part; it runs from the first look at the clock on.

        Most parts are done before: their few steps are not worth a call of the system.
        """
        self._checkpoint = self.steps - _STRIDE
        self._deadline: float | None = None

    def work(self, steps: int) -> None:
        """Charge steps, and check the time now and then."""
        self.steps -= steps
        if self.steps < self._checkpoint:
            self._checkpoint = self.steps - _STRIDE
            self.check_clock()
            if self.steps < 0:
                raise Fault("the template takes too many steps")

    def write(self, characters: int) -> None:
        """Charge output."""
        self.characters -= characters
        if self.characters < 0:
            raise Fault("the output is too long")

    def call_snippet(self) -> None:
        """Charge a call of a snippet."""
        self.snippets -= 1
        if self.snippets < 0:
            raise Fault(f"render_snippet may be called at most {SNIPPETS} times in a template")

    def check_clock(self) -> None:
        """Raise Fault when the time of the part is over."""
        if self._deadline is None:
            self._deadline = thread_time() + self.seconds
        elif thread_time() > self._deadline:
            raise Fault("the template takes too long")
