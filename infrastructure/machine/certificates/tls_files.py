"""Name the files of certificates in a data directory.

- ``tls/service/certificate.pem`` and ``key.pem``: the certificate of the service's own names
- ``tls/tracking/<name>.pem``: key and chain of one tracking domain
- ``tls/challenges/<token>``: the key authorization of a challenge that is open
- ``tls/acme/<host>-<digest>/``: the account at an authority, by its directory's address
- ``tls/acme/state.json``: pauses after failures
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from relay.tls import CertificateFiles

_DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files below ``tls`` of a data directory."""

    data_dir: Path

    @property
    def service(self) -> CertificateFiles:
        """The certificate of the service's own names."""
        folder = self._tls / "service"
        return CertificateFiles(folder / "certificate.pem", folder / "key.pem")

    @property
    def tracking(self) -> Path:
        """The folder of the tracking domains' certificates."""
        return self._tls / "tracking"

    def tracking_file(self, name: str) -> Path:
        """Return the file of a tracking domain, whose name must be a host name in lower case."""
        return self.tracking / f"{name}.pem"

    @property
    def challenges(self) -> Path:
        """The folder of the challenges that are open."""
        return self._tls / "challenges"

    @property
    def state(self) -> Path:
        """The pauses after failures."""
        return self._tls / "acme" / "state.json"

    def account(self, directory: str) -> Path:
        """Return the folder of the account at the authority with this directory's address."""
        digest = hashlib.sha256(directory.encode()).hexdigest()[:_DIGEST_CHARACTERS]
        host = urlsplit(directory).hostname or "authority"
        return self._tls / "acme" / f"{host.replace(':', '-')}-{digest}"

    def make_folders(self) -> None:
        """Make the folders, for the owner only."""
        for folder in (self.service.certificate.parent, self.tracking, self.challenges):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.state.parent.mkdir(mode=0o700, exist_ok=True)

    @property
    def _tls(self) -> Path:
        return self.data_dir / "tls"
