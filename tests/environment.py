"""Name the environment variables under which tests run with a cloud in their own process."""

from __future__ import annotations

import base64

IN_PROCESS_CLOUD = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "STAGE": "test",
    "SECRET_KEY": base64.b64encode(bytes(range(32))).decode(),
    "EVENTS_LAG": "-0.001",
    "EVENTS_SHARDS": "2",
}
