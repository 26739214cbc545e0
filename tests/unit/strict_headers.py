"""Check the headers that keep other sites from using or showing what the service answers."""

from __future__ import annotations

from typing import Any


def check_strict_headers(response: dict[str, Any]) -> dict[str, str]:
    """Check a response of the gateway; return its content security policy by directive."""
    headers = response["headers"]
    parts = headers["Content-Security-Policy"].split(";")
    policy = dict(part.strip().split(" ", 1) for part in parts)
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy.get("script-src", "'self'") == "'self'"  # the console's own files
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in headers if name.lower().startswith("access-control-")]
    return policy
