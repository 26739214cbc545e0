"""Store what a deployment needs before its first request, in a process with its settings.

``python -m infrastructure.deployment.first_key`` creates the first account and its key where they
are missing, and prints what it stored. The key is ``API_KEY`` if that is set, else a new one.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from chalicelib.accounts.store import accounts
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.model import key_id
from infrastructure.bootstrap import (
    ACCOUNT_ID,
    ensure_sample_template,
    first_start,
    free_names_above_system_domain,
)

ROOT = Path(__file__).resolve().parents[2]


def ensure(environment: Mapping[str, str], api_key: str) -> str | None:
    """Make a first start under the settings ``environment``; return the key that it stored."""
    done = subprocess.run(
        [sys.executable, "-m", "infrastructure.deployment.first_key"],
        cwd=ROOT,
        env={**os.environ, **environment, "API_KEY": api_key},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip() or None


def main() -> None:
    """Make the first start if it was not made, else store what version 0.1.0 did not (0.3.0)."""
    api_key = os.environ.get("API_KEY", "")
    if accounts.get(ACCOUNT_ID) is not None and (not api_key or api_keys.get(key_id(api_key))):
        ensure_sample_template()
        free_names_above_system_domain()
        return
    key = api_key or secrets.token_hex(20)
    first_start(key)
    print(key)


if __name__ == "__main__":
    main()
