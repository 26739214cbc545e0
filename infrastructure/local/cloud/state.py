"""Open the state of the local cloud: give MiniStack what is stored, and store what it changes."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import suppress
from pathlib import Path

from infrastructure.local.cloud import function_code, store
from infrastructure.local.cloud.documents import Documents, deploying
from infrastructure.local.cloud.queues import Queues
from infrastructure.local.cloud.store import ARCHIVES, CannotStore, DamagedState, Store
from infrastructure.local.cloud.stored_objects import StoredObjects
from infrastructure.local.cloud.tables import Tables

OBJECTS = "objects"


class State:
    """Everything that is stored under ``root``; opening it raises :class:`DamagedState`.

    With ``synchronizes``, files are on the disk when they are written.
    """

    def __init__(
        self, root: Path, loop: asyncio.AbstractEventLoop, *, synchronizes: bool = False
    ) -> None:
        path = root / store.NAME
        if path.exists():
            store.check(path)
        else:
            store.create(path)
        self.store = Store(path)
        self.documents = Documents(self.store)
        self.tables = Tables(self.store)
        self.queues = Queues(self.store, loop)
        self.objects = StoredObjects(self.store, root / OBJECTS, synchronizes=synchronizes)
        self._changed: set[str] = set()
        self._archives = root / ARCHIVES

    def restore(self) -> None:
        """Make what is stored the state of MiniStack's services; raises :class:`DamagedState`."""
        function_code.keep_in(self._archives)
        # All that is made here stays, so collections of it would find nothing
        gc.disable()
        try:
            self.documents.restore()
            self.tables.install()
            self._adopt()
        except sqlite3.DatabaseError as error:
            # The check of a large database sees a part of it
            raise DamagedState(self.store.path, f"is damaged ({error})") from None
        function_code.restore_lost_code()
        function_code.remove_unused(self._archives)
        self.may_have_changed()
        self.commit()
        gc.freeze()
        gc.enable()

    def may_have_changed(self, service: str = "") -> None:
        """Compare what this service declares, or all do, at the next commit."""
        self._changed.add(service)

    def commit(self) -> None:
        """Store what was changed since the last commit; raises :class:`CannotStore`.

        What MiniStack declares meanwhile is stored with a later commit if it cannot be with this.
        """
        if not self._changed or deploying():
            self.store.commit()
            return
        with self.store.lock:
            services = {""} if "" in self._changed else self._changed
            done = [self.documents.store_changes(service) for service in services]
            self._adopt()
            self.store.commit()
        self._changed = set()
        for each in done:
            each()

    async def keep(self, interval: float) -> None:
        """Commit what tasks and threads of MiniStack change. Runs until cancelled."""
        while True:
            await asyncio.sleep(interval)
            with suppress(CannotStore):
                self.commit()

    def close(self) -> None:
        """Store what is left."""
        with suppress(CannotStore):
            self.commit()
        self.store.close()

    def _adopt(self) -> None:
        self.tables.adopt()
        self.queues.adopt()
        self.objects.adopt()
        function_code.share()
