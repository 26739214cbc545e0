"""Give processes access to the local cloud: its address, and the secret that signs requests.

Each start of the runtime draws a new secret and stores it in ``DATA_DIR/cloud.secret``, for the
owner's eyes only. A process that an earlier, killed run left behind can therefore do nothing to the
state that the present run works on, and a secret that leaked is of no use after a restart.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from infrastructure.local.supervisor.private_files import replace_private

REGION = "us-east-1"
#: MiniStack takes a number of twelve digits for the account itself
ACCESS_KEY_ID = "000000000000"

_SECRET_FILE = "cloud.secret"


def draw_secret(data_dir: Path) -> str:
    """Draw the secret of a new run and store it."""
    secret = secrets.token_hex(20)
    replace_private(data_dir / _SECRET_FILE, secret)
    return secret


def aws_environment(url: str, secret: str) -> dict[str, str]:
    """Return the AWS variables for the cloud at ``url``; nothing else of the caller's counts."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def read_secret(data_dir: Path) -> str:
    """Return the secret of the present run, for a tool beside it."""
    return (data_dir / _SECRET_FILE).read_text()
