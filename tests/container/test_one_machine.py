"""Run production on one machine with the Compose file, by the commands of docs/one-machine.md."""

from __future__ import annotations

import re
import shutil
import smtplib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.certificates.conftest import require_pebble
from tests.container.engine import Engine, cannot_publish
from tests.container.surroundings import (
    ADDRESS,
    HEALTH,
    HOST,
    Surroundings,
    surroundings,
    with_own_values,
)
from tests.container.terminal import Terminal, blocks, docker_variables
from tests.journey.service import ROOT, eventually

PAGE, SECTION = "one-machine.md", "With Docker or Podman Compose"
FOLDER = "infrastructure/one-machine"
CONTAINER = "postfinch_postfinch_1"
IN_CONTAINER = "docker compose exec -T postfinch"
STOP_SECONDS = 20.0
MOST_KILOBYTES = 600_000
_MEMORY = (
    "import glob, re; "
    "texts = [open(path).read() for path in glob.glob('/proc/[0-9]*/smaps_rollup')]; "
    r"print(sum(int(re.search(r'Pss: +(\d+)', text)[1]) for text in texts if text))"
)

pytestmark = pytest.mark.skipif(cannot_publish() != "", reason=cannot_publish())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def around(service_image: str, home: Path) -> Iterator[Surroundings]:
    """The image comes first: the network that the machine has now leads nowhere."""
    require_pebble()
    with surroundings(home) as running:
        yield running


@pytest.fixture(scope="module")
def terminal(
    engine: Engine, service_image: str, around: Surroundings, home: Path
) -> Iterator[Terminal]:
    """A terminal in a folder that has a checkout."""
    engine.podman("tag", service_image, "docker.io/postfinch/postfinch")
    shutil.copytree(ROOT / FOLDER, home / "postfinch" / FOLDER)
    trust = around.trust
    service = {
        "dns": [ADDRESS],
        "environment": around.settings(trust) | {"SSL_CERT_FILE": f"{trust}/root.pem"},
        "volumes": [f"{trust}:{trust}:ro"],
    }
    (home / "around.yaml").write_text(yaml.safe_dump({"services": {"postfinch": service}}))
    (home / ".curlrc").write_text(
        f'cacert = "{trust}/root.pem"\nresolve = "{HOST}:443:{ADDRESS}"\n'
    )
    terminal = Terminal(
        home,
        HOME=str(home),
        COMPOSE_FILE=f"compose.yaml:{home}/around.yaml",
        **docker_variables(engine, home / "programs"),
    )
    yield terminal
    print(terminal.run("docker compose logs", may_fail=True))
    terminal.run("docker compose down --volumes", may_fail=True)


@pytest.fixture(scope="module")
def installation(terminal: Terminal, around: Surroundings, home: Path) -> Terminal:
    """The machine after the commands of the page, with what they ask for done in between."""
    for block in blocks(PAGE, SECTION):
        if "domains" in block:
            wait_for_health(terminal)
        # Records that doctor asks for are not published here
        around.publish(terminal.run(with_own_values(block, home), may_fail="doctor" in block))
        file = home / "postfinch" / FOLDER / ".env"
        file.write_text(with_own_values(file.read_text(), home))
        assert len(file.read_text().splitlines()) == 4
    return terminal


def wait_for_health(terminal: Terminal) -> None:
    """Wait until the service accepts mail under a certificate of the authority."""
    eventually(lambda: '"ok"' in terminal.run(HEALTH, may_fail=True))


def test_the_commands_of_the_page_end_with_a_message_at_its_mail_host(
    installation: Terminal, around: Surroundings
) -> None:
    (message,) = eventually(lambda: around.place.messages("you@acme.example"))
    assert message["From"] == "hello@acme.example"
    assert message["DKIM-Signature"]


def test_what_users_see_has_the_ports_outside(installation: Terminal) -> None:
    assert f"https://{HOST}/console/" in installation.run("docker compose logs")
    options = "-s -o /dev/null -w '%{redirect_url}'"
    location = installation.run(f"curl {options} http://{ADDRESS}/console/")
    assert location == f"https://{HOST}/console/"


def test_mail_by_smtp_comes_in_at_the_usual_ports(
    installation: Terminal, around: Surroundings
) -> None:
    context, key = around.pebble.root(), installation.run("echo $API_KEY").strip()
    context.check_hostname = False
    with smtplib.SMTP(ADDRESS, 587, timeout=60) as relay:
        relay.starttls(context=context)
        relay.login("SMTP_Injection", key)
        text = "From: hello@acme.example\r\nTo: bea@acme.example\r\nSubject: Hi\r\n\r\nHi\r\n"
        relay.sendmail("hello@acme.example", ["bea@acme.example"], text)
    assert eventually(lambda: around.place.messages("bea@acme.example"))
    with smtplib.SMTP_SSL(ADDRESS, 465, timeout=60, context=context) as relay:
        relay.login("SMTP_Injection", key)
    with smtplib.SMTP(ADDRESS, 25, timeout=60) as relay:
        relay.ehlo()
        relay.mail("ann@elsewhere.example")
        assert relay.rcpt("bea@acme.example")[0] == 550


def test_it_runs_without_privileges_and_writes_to_its_volumes_only(installation: Terminal) -> None:
    assert installation.run(f"{IN_CONTAINER} id -u").strip() == "10001"
    status = installation.run(f"{IN_CONTAINER} cat /proc/1/status")
    assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
    for path in ("/opt/postfinch/x", "/etc/x"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            installation.run(f"{IN_CONTAINER} touch {path}")


def test_its_backups_are_on_the_machine(installation: Terminal, home: Path) -> None:
    assert list((home / "backups").glob("postfinch-*.backup"))


def test_all_processes_together_take_little_memory(installation: Terminal) -> None:
    kilobytes = int(installation.run(f'{IN_CONTAINER} python3 -c "{_MEMORY}"'))
    print(f"memory of all processes: {kilobytes / 1000:.0f} MB")
    assert kilobytes < MOST_KILOBYTES


def test_it_stops_in_order_and_keeps_its_data(
    installation: Terminal, engine: Engine, home: Path
) -> None:
    began = time.monotonic()
    installation.run("docker compose stop")
    assert time.monotonic() - began < STOP_SECONDS
    assert engine.podman("inspect", "--format={{.State.ExitCode}}", CONTAINER).strip() == "0"
    installation.run("docker compose up -d")
    wait_for_health(installation)
    events = with_own_values(blocks(PAGE, SECTION)[-1], home)
    # Events are shown a minute after they happened
    eventually(lambda: '"delivery"' in installation.run(events), seconds=120)
