"""The smarthost is tried as the delivery would use it, and a finding says what to do."""

from __future__ import annotations

import pytest

from chalicelib.core.settings import Settings
from infrastructure.machine.checks.finding import OK, PROBLEM, WARNING
from infrastructure.machine.checks.smarthost import check_smarthost
from tests.free_ports import free_port
from tests.unit.delivery.scripted_server import STANDARD, ScriptedServer, certificate

TLS = (*STANDARD, "STARTTLS")
LOGIN = (*TLS, "AUTH PLAIN")


def settings_for(host: ScriptedServer, tls: str, *, login: bool = False) -> Settings:
    username, password = ("u", "p") if login else ("", "")
    return Settings(
        smarthost=f"127.0.0.1:{host.port}",
        smarthost_tls=tls,
        smarthost_username=username,
        smarthost_password=password,
    )


def test_a_host_that_takes_the_login_under_tls_is_ok_and_gets_no_message() -> None:
    with ScriptedServer(extensions=LOGIN, tls=certificate()[0], login=("u", "p")) as host:
        finding = check_smarthost(settings_for(host, "opportunistic", login=True))
    assert finding.check == f"Smarthost 127.0.0.1:{host.port}"
    assert (finding.status, finding.remedy) == (OK, "")
    assert finding.detail == "answers with TLS and takes the login of u"
    assert host.conversations[0].verbs() == ["EHLO", "STARTTLS", "EHLO", "AUTH", "QUIT"]


def test_a_certificate_that_is_not_trusted_is_a_problem_where_tls_is_required() -> None:
    with ScriptedServer(extensions=TLS, tls=certificate()[0]) as host:
        finding = check_smarthost(settings_for(host, "required"))
    assert finding.status == PROBLEM
    assert "no TLS" in finding.detail
    assert "SMARTHOST_TLS is required" in finding.remedy


def test_a_refused_login_is_a_problem_with_the_settings_to_check() -> None:
    with ScriptedServer(extensions=LOGIN, tls=certificate()[0], login=("u", "other")) as host:
        finding = check_smarthost(settings_for(host, "opportunistic", login=True))
    assert (finding.status, finding.detail[:3]) == (PROBLEM, "535")
    assert "SMARTHOST_PASSWORD" in finding.remedy


def test_a_host_without_tls_is_a_warning_unless_tls_is_off() -> None:
    with ScriptedServer() as host:
        assert check_smarthost(settings_for(host, "opportunistic")).status == WARNING
        assert check_smarthost(settings_for(host, "off")).status == OK


@pytest.mark.parametrize("deliver", [True, False])
def test_a_host_that_is_not_reached_is_a_problem(deliver: bool) -> None:
    smarthost = f"127.0.0.1:{free_port()}" if deliver else "192.0.2.1:25"
    finding = check_smarthost(Settings(smarthost=smarthost, deliver=deliver))
    assert finding.status == PROBLEM
    assert ("check SMARTHOST" if deliver else "--deliver") in finding.remedy
