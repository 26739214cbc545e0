"""Run Haraka, a mail server in JavaScript whose plugins are in the folder `haraka`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.free_ports import free_port
from tests.mail_servers.chroot import wait_for
from tests.mail_servers.mailbox import Mailbox
from tests.mail_servers.others import Server
from tests.node_packages import install

_SETTINGS = {
    "smtp.ini": "listen=127.0.0.1:{port}\nnodes=0\ndaemonize=false\n",
    "me": "haraka.inbox.test\n",
    "plugins": "tls\nstore\n",
    "tls.ini": (
        "key={certificate}\ncert={certificate}\ndhparam=dhparams.pem\nno_starttls_ports[]=0\n"
    ),
    "log.ini": "[main]\nlevel=notice\n",
}


@contextmanager
def run_haraka(folder: Path, certificates: Path) -> Iterator[Server]:
    """Run Haraka with the port `plain`, which offers STARTTLS."""
    packages = install(Path(__file__).parent / "haraka")
    certificate, port = certificates / "self-signed.pem", free_port()
    shutil.copytree(packages / "node_modules/Haraka/config", folder / "config")
    for name, text in _SETTINGS.items():
        content = text.format(port=port, certificate=certificate)
        (folder / "config" / name).write_text(content)
    shutil.copytree(packages / "plugins", folder / "plugins")
    limits = folder / "config" / "connection.ini"
    limits.write_text(limits.read_text().replace("bytes=26214400", "bytes=200000"))
    # Else it searches for primes of its own, which may take a minute of a processor
    group = ("genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048")
    subprocess.run(["openssl", *group, "-out", folder / "config" / "dhparams.pem"], check=True)
    (folder / "package.json").write_text("{}")
    (folder / "node_modules").symlink_to(packages / "node_modules")
    mailbox = folder / "mail"
    for name in ("new", "tmp"):
        (mailbox / name).mkdir(parents=True)
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["node", str(packages / "node_modules/Haraka/bin/haraka"), "-c", str(folder)],
            env=os.environ | {"MAILDIR": str(mailbox)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_for(port, process, log)
            yield Server({"plain": port}, Mailbox(mailbox, []))
        finally:
            process.terminate()
            process.wait(10)
