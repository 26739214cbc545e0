"""Open the state of the local cloud: restore it, and write its changes to the log from then on."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import NamedTuple

from ministack.services import sqs

from infrastructure.local.cloud import function_code, queue_changes
from infrastructure.local.cloud.compaction import Compaction
from infrastructure.local.cloud.documents import Documents
from infrastructure.local.cloud.item_file import ItemFile
from infrastructure.local.cloud.journal import ChangeJournal
from infrastructure.local.cloud.redo_log import DamagedState
from infrastructure.local.cloud.restoration import Contradiction, Restoration
from infrastructure.local.cloud.state_files import ARCHIVES, StateFiles
from infrastructure.local.cloud.table_items import ItemsInFile


class State(NamedTuple):
    """What writes the changes of MiniStack's services."""

    journal: ChangeJournal
    documents: Documents
    compaction: Compaction


def open_state(root: Path, temporary: Path, lock: int) -> State:
    """Restore what the files under ``root`` say; raises :class:`DamagedState`.

    Items are kept in a file in ``temporary``; ``lock`` is the descriptor of the lock on the data.
    """
    files, file = StateFiles(root), ItemFile(temporary)

    def adopt() -> None:
        items.adopt()
        queue_changes.adopt(journal)

    documents = Documents(adopt)
    restoration = Restoration(file, documents)
    # All that is made here stays, so collections of it would find nothing
    gc.disable()
    try:
        restoration.apply(files.base_changes(time.time()))
        if files.base is not None:
            restoration.serve(files.base)
        restoration.apply(files.log_changes())
        journal = ChangeJournal(
            files.open_log(),
            sqs._queues_lock,
            lambda: documents.note_changes(journal),
            file.make_room,
        )
        items = ItemsInFile(file, journal)
        function_code.keep_in(root / ARCHIVES)
        restoration.install(journal)
    except Contradiction as contradiction:
        raise DamagedState(
            root, f"has records that do not fit together ({contradiction})"
        ) from None
    function_code.restore_lost_code()
    function_code.remove_unused(root / ARCHIVES)
    gc.freeze()
    gc.enable()
    items.install()
    documents.may_have_changed()
    return State(journal, documents, Compaction(files, journal, lock, file))
