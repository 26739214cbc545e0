"""Start a Postfix with a configuration, queue and log in one folder, and stop it."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MAIN = """
compatibility_level = 3.6
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
alias_maps =
alias_database =
local_recipient_maps =
"""
_SERVICES = """
cleanup    unix  n - n - 0 cleanup
qmgr       unix  n - n 300 1 qmgr
tlsmgr     unix  - - n 1000? 1 tlsmgr
rewrite    unix  - - n - - trivial-rewrite
bounce     unix  - - n - 0 bounce
defer      unix  - - n - 0 bounce
trace      unix  - - n - 0 bounce
error      unix  - - n - - error
retry      unix  - - n - - error
proxymap   unix  - - n - - proxymap
smtp       unix  - - n - - smtp
discard    unix  - - n - - discard
scache     unix  - - n - 1 scache
virtual    unix  - n n - - virtual
anvil      unix  - - n - 1 anvil
postlog    unix-dgram n - n - 1 postlogd
"""


@contextmanager
def postfix_process(folder: Path, main: str, services: str) -> Iterator[int]:
    """Run Postfix until the block ends; yield the process id of its master.

    `main` is added to a `main.cf` without local users, `services` (its ports) to a `master.cf`. It
    logs to the file `log`.
    """
    folder.chmod(0o755)  # its processes run as the user postfix
    for name in ("etc", "queue", "data"):
        (folder / name).mkdir(exist_ok=True)
    os.chown(folder / "data", pwd.getpwnam("postfix").pw_uid, -1)
    etc = folder / "etc"
    (etc / "main.cf").write_text(_MAIN.format(folder=folder) + main)
    (etc / "master.cf").write_text(services + _SERVICES)
    (etc / "dynamicmaps.cf").touch()
    subprocess.run(["postfix", "-c", str(etc), "start"], check=True, capture_output=True)
    master = int((folder / "queue" / "pid" / "master.pid").read_text())
    try:
        yield master
    finally:
        _stop(master)


def _stop(master: int) -> None:
    """Stop the processes of Postfix; its own command looks once a second whether they ended."""
    os.kill(master, signal.SIGTERM)
    deadline = time.monotonic() + 10
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(master, 0)
            time.sleep(0.01)
