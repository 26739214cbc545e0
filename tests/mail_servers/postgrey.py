"""Run postgrey, the greylisting policy server that Debian has for Postfix."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mail_servers.chroot import wait_for

DELAY = 1


@contextmanager
def run_postgrey(port: int) -> Iterator[None]:
    """Greylist each triplet for a second."""
    if shutil.which("postgrey") is None:
        pytest.skip("postgrey is not installed (apt-get install postgrey)")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        command = ["postgrey", f"--inet=127.0.0.1:{port}", f"--dbdir={folder}", f"--delay={DELAY}"]
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--user=nobody", "--group=nogroup"], stdout=output, stderr=output
            )
        try:
            wait_for(port, process, log)
            yield
        finally:
            process.terminate()
            process.wait(10)
