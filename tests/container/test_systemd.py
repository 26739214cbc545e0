"""Install production on a Debian with systemd, by the commands of docs/one-machine.md.

The package is built and installed there as the page says. What it needs comes from files, as the
machine's network leads nowhere.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates.conftest import require_pebble
from tests.container.engine import Engine
from tests.container.surroundings import (
    ADDRESS,
    HEALTH,
    Surroundings,
    surroundings,
    with_own_values,
)
from tests.container.terminal import Terminal, blocks
from tests.journey.service import ROOT, eventually

PAGE = "one-machine.md"
SECTIONS = (
    "1. Install",
    "2. Configure",
    "3. Start",
    "4. Publish the records",
    "5. Add a sending domain",
    "6. Send",
)
MACHINE = "machine"
_PACKAGES = "systemd-sysv,dbus,sudo,curl,ca-certificates,python3-venv,git"
# The folders of this machine are under /tmp, of which the service has its own
_TRUST = Path("/etc/authority")
_PREPARATION = """\
cp -r {trust} /etc/authority
cat {trust}/root.pem >>/etc/ssl/certs/ca-certificates.crt
rm -f /etc/apt/sources.list
printf '[global]\\nno-index = true\\nfind-links = {wheels}\\n' >/etc/pip.conf
git config --system safe.directory '*'
mkdir -p /etc/systemd/system/postfinch.service.d
printf '[Service]\\n{variables}' >/etc/systemd/system/postfinch.service.d/around.conf
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    # Users of the machine in the container reach it
    for folder in (home, *home.parents[:2]):
        folder.chmod(0o755)
    return home


@pytest.fixture(scope="module")
def system(engine: Engine, home: Path) -> str:
    """An image with a new Debian, and the wheels of what a build needs."""
    engine.download("hatchling==1.33.0")
    return engine.import_debian("localhost/postfinch-debian", _PACKAGES)


@pytest.fixture(scope="module")
def around(system: str, home: Path) -> Iterator[Surroundings]:
    """The image comes first: the network that the machine has now leads nowhere."""
    require_pebble()
    with surroundings(home) as running:
        yield running


@pytest.fixture(scope="module")
def terminal(engine: Engine, system: str, around: Surroundings, home: Path) -> Iterator[Terminal]:
    """The terminal of root on a new server."""
    _make_repository(home / "repository")
    engine.run_system(system, MACHINE, home, engine.wheels)
    try:
        terminal = Terminal(home, engine.command("exec", MACHINE, "sh"), HOME="/root")
        terminal.run("systemctl is-system-running --wait", may_fail=True)
        settings = around.settings(_TRUST)
        variables = "".join(f"Environment={name}={text}\\n" for name, text in settings.items())
        terminal.run(
            _PREPARATION.format(trust=around.trust, wheels=engine.wheels, variables=variables)
        )
        terminal.run(f"echo nameserver {ADDRESS} >/etc/resolv.conf")
        yield terminal
        print(terminal.run("journalctl --no-pager -o cat -u postfinch", may_fail=True))
    finally:
        engine.podman("rm", "--force", "--time=0", MACHINE)


@pytest.fixture(scope="module")
def installation(terminal: Terminal, around: Surroundings, home: Path) -> Terminal:
    """The server after the commands of the page, with what they ask for done in between."""
    for section in SECTIONS:
        for block in blocks(PAGE, section):
            commands = with_own_values(block, home)
            commands = commands.replace("<address of this repository>", f"{home}/repository")
            if "domains" in commands:
                eventually(lambda: '"ok"' in terminal.run(HEALTH, may_fail=True), seconds=90)
            # Records that setup asks for are not published here
            around.publish(terminal.run(commands, may_fail="setup" in commands))
    return terminal


def _make_repository(folder: Path) -> None:
    """Put the files of this checkout, as they are, into a repository of their own."""
    listing = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    user = ("-c", "user.name=Test", "-c", "user.email=test@acme.example")
    for command in (("init", "-q"), ("add", "--all"), (*user, "commit", "-q", "-m", "All files")):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def test_the_commands_of_the_page_end_with_a_message_at_its_mail_host(
    installation: Terminal, around: Surroundings
) -> None:
    (message,) = eventually(lambda: around.place.messages("you@acme.example"))
    assert message["From"] == "hello@acme.example"
    assert message["DKIM-Signature"]


def test_the_service_is_not_root_and_has_one_right(installation: Terminal) -> None:
    status = installation.run(
        "cat /proc/$(systemctl show postfinch --property=MainPID --value)/status"
    )
    assert "\nUid:\t0\t" not in status
    assert "\nCapEff:\t0000000000000400\n" in status
    assert installation.run("systemctl is-active postfinch").strip() == "active"


def test_it_stops_in_order(installation: Terminal) -> None:
    installation.run("sudo systemctl stop postfinch")
    result = "systemctl show postfinch --property=Result --value"
    assert installation.run(result).strip() == "success"
