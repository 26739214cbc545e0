"""The packages of people's sign-in load where they are used, not at the start of a function."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = ("argon2", "authlib", "joserfc", "webauthn", "cbor2", "pyotp", "segno")


@pytest.fixture(scope="module")
def modules() -> set[str]:
    """The modules that ``import app`` loads."""
    program = "import app, sys; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(process.stdout.split())


def test_the_application_starts_without_the_packages_of_sign_in(modules: set[str]) -> None:
    assert "app" in modules
    assert modules.isdisjoint(PACKAGES)
