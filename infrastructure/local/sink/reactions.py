"""React to accepted mail for `oob`, `complain`, `open`, `click` and `unsubscribe`.

Reactions run in the background after a delay, a few at a time. One that fails is logged; the others
go on.
"""

import asyncio
import logging
from collections.abc import Callable

from infrastructure.local.sink.behaviours import behaviour_of
from infrastructure.local.sink.recipient import NoTarget, Recipient, Step
from infrastructure.local.sink.reports import Accepted

log = logging.getLogger(__name__)


class Reactions:
    """Runs the reaction that a recipient's local part names."""

    def __init__(self, recipient: Recipient, delay: float, concurrency: int = 8) -> None:
        """`delay` is in seconds."""
        self._delay = delay
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._reactions: dict[str, Callable[[Accepted], list[Step]]] = {
            "oob": recipient.bounce,
            "complain": recipient.complain,
            "open": recipient.open,
            "click": recipient.click,
            "unsubscribe": recipient.unsubscribe,
        }

    def react(self, accepted: Accepted) -> None:
        """Start the reaction to a message, if its recipient names one. Does not wait for it."""
        reaction = self._reactions.get(behaviour_of(accepted.recipient))
        if reaction:
            task = asyncio.create_task(self._run(reaction, accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Drop the reactions that have not begun."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, reaction: Callable[[Accepted], list[Step]], accepted: Accepted) -> None:
        await asyncio.sleep(self._delay)
        async with self._slots:
            try:
                steps = await asyncio.to_thread(reaction, accepted)
            except NoTarget as error:
                log.warning("%s: %s", accepted.recipient, error)
            except Exception as error:
                log.warning("reaction of %s failed: %r", accepted.recipient, error)
            else:
                for method, url, status in steps:
                    log.info("%s: %s %s: %d", accepted.recipient, method, url, status)
