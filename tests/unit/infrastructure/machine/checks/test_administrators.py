"""The checks of a machine tell how to make the first administrator."""

from __future__ import annotations

import pytest

from chalicelib.users.store import users
from infrastructure.machine.checks import administrators
from infrastructure.machine.checks.finding import OK, SKIPPED, WARNING
from tests.unit.infrastructure.machine.checks.conftest import Installing

COMMAND = "postfinch admin --local add-user ops@acme.example"


def test_before_the_service_runs_the_command_is_named(install: Installing) -> None:
    finding = administrators.say_how(install(ADMIN_EMAIL="ops@acme.example"))
    assert finding.status == SKIPPED
    assert finding.remedy.endswith(COMMAND)


@pytest.mark.parametrize(("number", "status"), [(0, WARNING), (1, OK), (3, OK)])
def test_a_service_without_an_administrator_gets_a_warning(
    install: Installing, monkeypatch: pytest.MonkeyPatch, number: int, status: str
) -> None:
    monkeypatch.setattr(users, "count_administrators", lambda account_id: number * account_id)
    finding = administrators.check_administrators(install(ADMIN_EMAIL="ops@acme.example"))
    assert finding.status == status
    assert finding.remedy.endswith(COMMAND) == (number == 0)
