"""Details are worked out for whoever looks first."""

from __future__ import annotations

import threading
from pathlib import Path

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.details import Detailer


def test_details_of_one_message_do_not_wait_for_work_on_others(tmp_path: Path) -> None:
    mailbox = SinkMailbox(tmp_path)
    ids = [mailbox.add("", "ann@b.test", b"Subject: Hi\r\n\r\n") for _ in range(2)]
    is_working, may_end = threading.Event(), threading.Event()

    def wait_for_the_end(_: object) -> dict[str, dict[str, object]]:
        if threading.current_thread() is worker:
            is_working.set()
            may_end.wait(20)
        return {}

    detailer = Detailer(mailbox, wait_for_the_end)
    worker = threading.Thread(target=detailer.add_some, args=(10,))
    worker.start()
    assert is_working.wait(20)
    assert list(detailer.details(ids)) == ids
    assert worker.is_alive()
    may_end.set()
    worker.join()
    mailbox.close()
