"""Run `each` loops and charge the budget for their iterations and branches."""

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
    """Yield index (from 1) and value of each element, charging every iteration.

    nil and objects have no elements. ``steps`` and ``characters`` are the cost of an iteration
    without its branches and inner loops.
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
    """Charge a branch inside a loop when it is taken."""
    context.budget.work(steps)
    context.budget.write(characters)
