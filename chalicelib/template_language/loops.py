"""`each`: the turns of a loop, and what a loop or a branch inside one costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import pass_context

from .context import RenderContext
from .errors import Fault
from .values import type_name


@pass_context
def turns(
    context: RenderContext, array: Any, steps: int, characters: int
) -> Iterator[tuple[int, Any]]:
    """Yield index (from 1) and value of each element, paying for every turn.

    nil has no elements, and neither has an object, whose fields are not numbered.
    ``steps`` and ``characters`` are what a turn always takes, branches and inner loops aside.
    """
    if array is None or isinstance(array, dict):
        return
    if not isinstance(array, list):
        raise Fault(f"attempt to loop over a {type_name(array)} value")
    budget = context.budget
    for turn in enumerate(array, 1):
        budget.work(steps)
        budget.write(characters)
        yield turn


@pass_context
def spend(context: RenderContext, steps: int, characters: int) -> None:
    """Pay for a branch inside a loop, when it is taken."""
    context.budget.work(steps)
    context.budget.write(characters)
