"""Give a machine in a container what is around it: a DNS, a mail host and a certificate authority.

Every name is the address of this machine, in a network of its own. What the pages of docs/ call
example.com is acme.example here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.certificates.pebble import Pebble, run_pebble
from tests.container.network import add_address, own_network
from tests.machine.outside import Outside, outside

ADDRESS = "198.51.100.1"
HOST = "mail.acme.example"
HEALTH = f"curl -s https://{HOST}/health"
_DNS_PORT = 53
_HTTP_PORT = 80
_KEY_RECORD = re.compile(r"(\S+_domainkey\S+)\s+(v=DKIM1[^\t\n]*)")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around the machine; ``trust`` has the authority's certificates for the machine."""

    place: Outside
    pebble: Pebble
    trust: Path

    def settings(self, trust: Path) -> dict[str, str]:
        """Return the settings by which a machine, which has ``trust`` there, uses all of it."""
        return {
            "MX_PORT": str(self.place.mail_port),
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "ACME_DIRECTORY": self.pebble.directory,
            "ACME_CA": f"{trust}/authority.pem",
        }

    def publish(self, output: str) -> None:
        """Put the keys into the DNS that a command asked to publish."""
        for name, text in _KEY_RECORD.findall(output):
            self.place.zone.published[name] = [("TXT", text)]


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    """Have them while the block runs, in a network of this thread."""
    with ExitStack() as stack:
        stack.enter_context(own_network())
        add_address(ADDRESS)
        place = stack.enter_context(outside(ADDRESS, _DNS_PORT))
        pebble = stack.enter_context(
            run_pebble(folder / "pebble", _HTTP_PORT, name="authority.example", address=ADDRESS)
        )
        trust = folder / "authority"
        trust.mkdir(mode=0o755)
        (trust / "authority.pem").write_bytes(pebble.ca_file.read_bytes())
        (trust / "root.pem").write_text(pebble.root_pem())
        yield Surroundings(place, pebble, trust)


def with_own_values(text: str, home: Path) -> str:
    """Put the domain and the folders of a test in place of those of a page."""
    return text.replace("example.com", "acme.example").replace("/srv/backups", f"{home}/backups")
