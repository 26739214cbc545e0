"""Run production on one machine with the Compose file, by the commands of docs/one-machine.md.

Around it are a DNS in which every name is this machine, a mail host, and a certificate authority.
"""

from __future__ import annotations

import json
import re
import shutil
import smtplib
import ssl
import time
import urllib.request
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
    (trust / "root.pem").write_text(pebble.root_text())
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


def _substituted(commands: str, home: Path) -> str:
    """Put the domain and the folder of this test in place of those of the page."""
    return commands.replace("example.com", "acme.example").replace("/srv/backups", f"{home}/backups")


def _has_certificate(pebble: Pebble) -> bool:
    try:
        with urllib.request.urlopen(f"https://{HOST}/health", context=pebble.root()) as response:
            return response.status == 200
    except OSError:
        return False
