"""Skip journeys that use programs which are missing on this machine."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def _has_swaks_with_tls() -> bool:
    if shutil.which("swaks") is None:
        return False
    support = subprocess.run(["swaks", "--support"], capture_output=True, text=True)
    return "TLS supported" in support.stdout


needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None, reason="curl is not installed (apt-get install curl)"
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="Node.js is not installed (apt-get install nodejs)"
)
needs_swaks = pytest.mark.skipif(
    not _has_swaks_with_tls(),
    reason="swaks with TLS is not installed (apt-get install swaks libnet-ssleay-perl)",
)
