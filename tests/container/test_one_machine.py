"""Run production on one machine with the Compose file, by the commands of docs/one-machine.md.

Around it are a DNS in which every name is this machine, a mail host, and a certificate authority.
"""

from __future__ import annotations

import re
import shutil
import smtplib
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates.conftest import require_pebble
from tests.certificates.pebble import Pebble, run_pebble
from tests.container.engine import Engine, cannot_publish
from tests.container.network import add_address, own_network
from tests.container.terminal import Terminal, blocks
from tests.journey.service import ROOT, eventually
from tests.machine.outside import Outside, outside

PAGE, SECTION = "one-machine.md", "With Docker or Podman Compose"
ADDRESS = "198.51.100.1"
HOST = "mail.acme.example"
HEALTH = f"curl -s https://{HOST}/health"
CONTAINER = "postfinch_postfinch_1"
STOP_SECONDS = 20.0
_SUM_OF_MEMORY = (
    "import glob, re; "
    "texts = [open(path).read() for path in glob.glob('/proc/[0-9]*/smaps_rollup')]; "
    "print(sum(int(re.search(r'Pss: +(\\d+)', text)[1]) for text in texts if text))"
)
_SURROUNDINGS = """\
services:
  postfinch:
    dns: [{address}]
    environment:
      MX_PORT: "{mail_port}"
      ALLOW_PRIVATE_ADDRESSES: "true"
      ACME_DIRECTORY: {directory}
      ACME_CA: /authority/authority.pem
      SSL_CERT_FILE: /authority/root.pem
    volumes:
      - {folder}:/authority:ro
"""

pytestmark = pytest.mark.skipif(cannot_publish() != "", reason=cannot_publish())


@pytest.fixture(scope="module", autouse=True)
def network(service_image: str) -> Iterator[None]:
    """Give the machine a network of its own; the image comes first, as it downloads packages."""
    with own_network():
        add_address(ADDRESS)
        yield


@pytest.fixture(scope="module")
def place(network: None) -> Iterator[Outside]:
    with outside(ADDRESS, 53) as running:
        yield running


@pytest.fixture(scope="module")
def pebble(network: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    require_pebble()
    folder = tmp_path_factory.mktemp("pebble")
    with run_pebble(folder, 80, name="authority.example", address=ADDRESS) as running:
        yield running


@pytest.fixture(scope="module")
def terminal(
    engine: Engine,
    service_image: str,
    place: Outside,
    pebble: Pebble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Terminal]:
    """A terminal in a folder that has a checkout, on a machine that trusts the authority."""
    engine.podman("tag", service_image, "docker.io/postfinch/postfinch")
    home = tmp_path_factory.mktemp("home")
    checkout = home / "postfinch" / "infrastructure" / "one-machine"
    shutil.copytree(ROOT / "infrastructure" / "one-machine", checkout)
    trust = home / "authority"
    trust.mkdir()
    (trust / "authority.pem").write_bytes(pebble.ca_file.read_bytes())
    (trust / "root.pem").write_text(pebble.root_pem())
    surroundings = _SURROUNDINGS.format(
        address=ADDRESS, mail_port=place.mail_port, directory=pebble.directory, folder=trust
    )
    (home / "surroundings.yaml").write_text(surroundings)
    (home / ".curlrc").write_text(f'cacert = "{trust}/root.pem"\nresolve = "{HOST}:443:{ADDRESS}"\n')
    terminal = Terminal(
        engine, home, home, COMPOSE_FILE=f"compose.yaml:{home / 'surroundings.yaml'}"
    )
    yield terminal
    print(terminal.run("docker compose logs", may_fail=True))
    terminal.run("docker compose down --volumes")


@pytest.fixture(scope="module")
def output(terminal: Terminal, place: Outside) -> str:
    """What the commands of the page printed, with what they ask for done in between."""
    home = terminal.folder
    texts: list[str] = []
    for block in blocks(PAGE, SECTION):
        commands = block.replace("example.com", "acme.example")
        commands = commands.replace("/srv/backups", f"{home}/backups")
        if "domains" in commands:
            eventually(lambda: '"ok"' in terminal.run(HEALTH, may_fail=True))
        texts.append(terminal.run(commands, may_fail="doctor" in commands))
        if ".env" in commands:
            _edit(terminal.folder / ".env", home)
        for name, text in re.findall(r"(\S+_domainkey\S+)\s+(v=DKIM1.*)", texts[-1]):
            place.zone.published[name] = [("TXT", text)]
    return "\n".join(texts)


def _edit(file: Path, home: Path) -> None:
    """Do what the page asks for: put one's own values into the four lines."""
    lines = file.read_text().replace("example.com", "acme.example")
    assert len(lines.splitlines()) == 4
    file.write_text(lines.replace("/srv/backups", f"{home}/backups"))


def test_the_commands_of_the_page_end_with_a_message_at_its_mail_host(
    output: str, terminal: Terminal, place: Outside
) -> None:
    (message,) = eventually(lambda: place.messages("you@acme.example"))
    assert message["From"] == "hello@acme.example"
    assert message["DKIM-Signature"]
    last_block = blocks(PAGE, SECTION)[-1]
    print(output, terminal.folder, last_block)


def test_what_users_see_has_the_ports_outside(output: str, terminal: Terminal) -> None:
    assert f"https://{HOST}/console/" in terminal.run("docker compose logs")
    location = terminal.run(f"curl -s -o /dev/null -w '%{{redirect_url}}' http://{ADDRESS}/console/")
    assert location == f"https://{HOST}/console/"


def test_mail_by_smtp_comes_in_at_the_usual_ports(
    output: str, terminal: Terminal, place: Outside, pebble: Pebble
) -> None:
    context, key = pebble.root(), terminal.variables["API_KEY"]
    context.check_hostname = False
    with smtplib.SMTP(ADDRESS, 587, timeout=60) as relay:
        relay.starttls(context=context)
        relay.login("SMTP_Injection", key)
        text = "From: hello@acme.example\r\nTo: bea@acme.example\r\nSubject: Hi\r\n\r\nHi\r\n"
        relay.sendmail("hello@acme.example", ["bea@acme.example"], text)
    assert eventually(lambda: place.messages("bea@acme.example"))
    with smtplib.SMTP_SSL(ADDRESS, 465, timeout=60, context=context) as relay:
        relay.login("SMTP_Injection", key)
    with smtplib.SMTP(ADDRESS, 25, timeout=60) as relay:
        assert relay.docmd("MAIL", "FROM:<ann@elsewhere.example>")[0] in (250, 503)


def test_it_runs_without_privileges_and_writes_to_its_volumes_only(
    output: str, terminal: Terminal
) -> None:
    assert terminal.run("docker compose exec -T postfinch id -u").strip() == "10001"
    status = terminal.run("docker compose exec -T postfinch cat /proc/1/status")
    assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
    for path in ("/opt/postfinch/x", "/etc/x"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            terminal.run(f"docker compose exec -T postfinch touch {path}")


def test_its_backups_are_on_the_machine(output: str, terminal: Terminal) -> None:
    assert list((terminal.folder.parents[2] / "backups").glob("postfinch-*.backup"))


def test_all_processes_together_take_little_memory(output: str, terminal: Terminal) -> None:
    command = f'docker compose exec -T postfinch python3 -c "{_SUM_OF_MEMORY}"'
    kilobytes = int(terminal.run(command))
    print(f"memory of all processes: {kilobytes / 1000:.0f} MB")
    assert kilobytes < 600_000


def test_it_stops_in_order_and_keeps_its_data(
    output: str, terminal: Terminal, engine: Engine
) -> None:
    began = time.monotonic()
    terminal.run("docker compose stop")
    assert time.monotonic() - began < STOP_SECONDS
    assert engine.podman("inspect", "--format={{.State.ExitCode}}", CONTAINER).strip() == "0"
    terminal.run("docker compose up -d")
    eventually(lambda: '"ok"' in terminal.run(HEALTH, may_fail=True))
    assert "delivery" in terminal.run("docker compose exec -T postfinch postfinch mail list")
