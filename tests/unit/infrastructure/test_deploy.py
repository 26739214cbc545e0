from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure import deploy, deploy_local
from infrastructure.deploy import Deployed, api_url, chosen_parameters, missing_choices
from infrastructure.deploy_local import local_environment
from infrastructure.deployment.functions import functions
from infrastructure.deployment.merge_template import merge_template
from infrastructure.deployment.stack import ProvisionFailed
from infrastructure.local.supervisor.ports import InternalPorts
from infrastructure.package import Package

PACKAGE = Package(merge_template(functions()), Path("deployment.zip"))
PORTS = InternalPorts(cloud=1, sink=2, dns=3, inbound=4, https=5, smtps=6, relay_metrics=7)


def test_the_environment_chooses_parameters_by_the_names_of_the_settings() -> None:
    environ = {
        "SYSTEM_DOMAIN": "mail.example.com",
        "DELIVERY_CONCURRENCY": "20",
        "LOG_RETENTION": "7",
        "PATH": "/bin",
    }
    assert chosen_parameters(PACKAGE, environ) == {
        "SystemDomain": "mail.example.com",
        "DeliveryConcurrency": "20",
        "LogRetention": "7",
    }


def test_the_stage_is_not_taken_from_the_environment() -> None:
    assert chosen_parameters(PACKAGE, {"STAGE": "somebody-elses"}) == {}


def test_every_parameter_can_be_chosen() -> None:
    parameters = set(PACKAGE.template["Parameters"]) - {"Stage"}
    environ = {
        "".join(f"_{c}" if c.isupper() and i else c for i, c in enumerate(name)).upper(): "x"
        for name in parameters
    }
    assert set(chosen_parameters(PACKAGE, environ)) == parameters


def test_functions_in_a_local_cloud_use_the_running_sink_and_dns_server() -> None:
    parameters = chosen_parameters(PACKAGE, local_environment({"RETRY_BASE": "9"}, PORTS))
    assert parameters["Smarthost"] == "127.0.0.1:2"
    assert parameters["DnsServers"] == "127.0.0.1:3"
    assert parameters["RetryBase"] == "9"
    assert parameters["LogLevel"] == "INFO"
    assert "Stage" not in parameters


def test_the_api_url_is_the_gateway_url_on_aws_and_a_path_in_a_local_cloud() -> None:
    outputs = {
        "EndpointURL": "https://a.execute-api.eu-west-1.amazonaws.com/api/",
        "RestAPIId": "a",
    }
    assert api_url(outputs) == "https://a.execute-api.eu-west-1.amazonaws.com/api"
    assert api_url(outputs, "http://127.0.0.1:1/") == "http://127.0.0.1:1/_aws/execute-api/a/api"


@pytest.mark.parametrize(
    ("key", "outputs", "lines"),
    [
        (None, {}, ["  API       https://api.test/api/v1"]),
        ("k", {}, ["  API       https://api.test/api/v1", "  API key   k (shown this once)"]),
        (
            None,
            {"DomainTarget": "d-1.execute-api.test"},
            [
                "  API       https://api.test/api/v1",
                "  DNS       a CNAME record of your domain with d-1.execute-api.test",
            ],
        ),
    ],
)
def test_the_report_names_the_api_url_the_new_key_and_the_dns_record(
    key: str | None, outputs: dict[str, str], lines: list[str]
) -> None:
    report = Deployed("dev", "https://api.test", outputs, key).report().splitlines()
    assert report == ["postfinch-dev is deployed.", "", *lines]


def test_warnings_about_a_stage_end_the_report() -> None:
    report = Deployed("dev", "https://api.test", {}, "k", ["One.\n  DO=this", "Two."]).report()
    assert report.splitlines()[-5:] == ["", "WARNING: One.", "  DO=this", "", "WARNING: Two."]


@pytest.mark.parametrize(
    ("parameters", "to_set"),
    [
        ({}, [("SMARTHOST=", "TRANSPORT=ses"), ("SYSTEM_DOMAIN=",)]),
        ({"Transport": "smtp"}, [("SMARTHOST=", "TRANSPORT=ses"), ("SYSTEM_DOMAIN=",)]),
        ({"SystemDomain": "mail.example.com"}, [("SMARTHOST=", "TRANSPORT=ses")]),
        ({"Smarthost": "smtp.example.net:587"}, [("SYSTEM_DOMAIN=",)]),
        ({"Transport": "ses"}, [("SYSTEM_DOMAIN=",)]),
        ({"Transport": "ses", "SystemDomain": "mail.example.com"}, []),
    ],
)
def test_missing_settings_that_only_the_user_can_know_cause_warnings(
    parameters: dict[str, str], to_set: list[tuple[str, ...]]
) -> None:
    parameters = dict.fromkeys(PACKAGE.template["Parameters"], "") | parameters
    warnings = missing_choices("prod", parameters)
    assert len(warnings) == len(to_set)
    for warning, settings in zip(warnings, to_set, strict=True):
        for setting in (*settings, "make deploy STAGE=prod"):
            assert setting in warning


def test_a_setting_that_is_not_allowed_is_refused_before_packaging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deploy, "build", pytest.fail)
    monkeypatch.setenv("SMARTHOST_TLS", "none")
    assert deploy.main([]) == 2
    expected = "SMARTHOST_TLS='none' is not allowed: it must be required, opportunistic or off\n"
    assert capsys.readouterr().err == expected


def test_what_a_stage_has_already_counts_for_contradictions() -> None:
    deploy.refuse_conflicts({"SmarthostUsername": "u"}, {"SmarthostPassword": "p"})
    with pytest.raises(ProvisionFailed, match="SMARTHOST_PASSWORD is set without"):
        deploy.refuse_conflicts({"SmarthostUsername": ""}, {"SmarthostPassword": "p"})


def test_a_secret_of_a_stage_that_is_not_shown_may_be_set_or_not() -> None:
    earlier = {"SmarthostUsername": "", "SmarthostPassword": "****"}
    deploy.refuse_conflicts(earlier, {})
    deploy.refuse_conflicts(earlier | {"SmarthostUsername": "u"}, {})
    with pytest.raises(ProvisionFailed, match="SMARTHOST_USERNAME is set without"):
        deploy.refuse_conflicts({}, {"SmarthostUsername": "u"})


def test_functions_in_a_local_cloud_use_another_smarthost_only_to_deliver() -> None:
    environ = {"SMARTHOST": "mail.test:587"}
    assert local_environment(environ, PORTS)["SMARTHOST"] == "127.0.0.1:2"
    environ["DELIVER"] = "true"
    assert local_environment(environ, PORTS)["SMARTHOST"] == "mail.test:587"


def test_a_local_deployment_without_a_running_service_is_refused_before_packaging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    assert deploy_local.main([]) == 1
    error_output = capsys.readouterr().err
    assert error_output.startswith(f"Nothing runs on `{tmp_path}/`; start it with `make run`.")
