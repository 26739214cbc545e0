from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.core.settings import MIB, Settings
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import configuration
from infrastructure.machine.configuration import MachineConfig, prepare
from relay.self_signed import self_signed_pair
from tests.free_ports import free_port

DOMAIN = "mail.a.test"
PORTS = ("HTTP_PORT", "HTTPS_PORT", "SUBMISSION_PORT", "SUBMISSIONS_PORT", "INBOUND_PORT")


def values(**environment: str) -> dict[str, str]:
    """Return the environment of the service for settings."""
    environ = {"SYSTEM_DOMAIN": DOMAIN, "POSTFINCH_CONFIG": "/dev/null", **environment}
    return configuration.read(environ)


def refusal(**environment: str) -> str:
    """Return why settings cannot work."""
    with pytest.raises(ConfigError) as error:
        configuration.load(values(**environment))
    (line,) = str(error.value).splitlines()
    return line


@pytest.mark.parametrize(
    ("environment", "parts"),
    [
        ({"SYSTEM_DOMAIN": ""}, ["SYSTEM_DOMAIN is not set"]),
        ({"SYSTEM_DOMAIN": Settings().system_domain}, ["SYSTEM_DOMAIN"]),
        ({"TLS": "files"}, ["TLS=files", "TLS_CERTIFICATE", "TLS_KEY"]),
        ({"TLS": "files", "TLS_KEY": "/k"}, ["TLS_CERTIFICATE"]),
        ({"HTTPS_PORT": "0"}, ["HTTPS_PORT is 0", "TLS=off"]),
        ({"TRUSTED_PROXIES": "192.0.2.1/8"}, ["TRUSTED_PROXIES='192.0.2.1/8'"]),
        ({"SMARTHOST": "a.test", "SMARTHOST_TLS": "none"}, ["SMARTHOST_TLS='none'", "required"]),
        ({"RELAY_CERTIFICATE": "/none", "RELAY_KEY": "/none"}, ["RELAY_CERTIFICATE='/none'"]),
    ],
)
def test_what_cannot_work_is_told_in_one_line(
    environment: dict[str, str], parts: list[str]
) -> None:
    line = refusal(**environment)
    assert [part for part in parts if part not in line] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TLS", "on"),
        ("HTTP_PORT", "65536"),
        ("ACME_DIRECTORY", "http://a.test"),
        ("ADMIN_EMAIL", "ann"),
        ("METRICS_TOKEN", "a b"),
        ("BACKUP_KEEP", "0"),
        ("BACKUP_EVERY", "0"),
    ],
)
def test_an_unknown_value_is_refused_before_anything_is_read(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        values(**{name: text})


def test_the_values_are_those_of_a_stage() -> None:
    _, service = configuration.load(values())
    assert service.stage == "machine"
    assert service.public_url == f"https://{DOMAIN}"
    assert service.mail_hostname == DOMAIN
    assert service.transport == "mx"
    assert (service.relay_ports, service.relay_tls_ports) == ("587", "465")
    assert service.relay_inbound_ports == "25"
    assert service.max_body_bytes == 50 * MIB
    assert not service.allow_private_addresses


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"HTTPS_PORT": "8443"}, f"https://{DOMAIN}:8443"),
        ({"TLS": "off"}, f"http://{DOMAIN}"),
        ({"TLS": "off", "HTTP_PORT": "8080"}, f"http://{DOMAIN}:8080"),
        ({"TLS": "off", "TRUSTED_PROXIES": "192.0.2.1"}, f"https://{DOMAIN}"),
        ({"PUBLIC_URL": "https://api.a.test"}, "https://api.a.test"),
    ],
)
def test_the_public_url_follows_from_tls_and_ports(environment: dict[str, str], url: str) -> None:
    assert configuration.load(values(**environment))[1].public_url == url


def test_a_smarthost_is_the_way_out_unless_another_is_set() -> None:
    assert configuration.load(values(SMARTHOST="out.a.test"))[1].transport == "smtp"
    other = values(SMARTHOST="out.a.test", TRANSPORT="mx")
    assert configuration.load(other)[1].transport == "mx"


def test_aws_credentials_are_those_of_ses_and_of_nothing_else() -> None:
    environment = values(AWS_ACCESS_KEY_ID="id", AWS_REGION="eu-west-1", AWS_PROFILE="work")
    assert environment["SES_ACCESS_KEY_ID"] == "id"
    assert environment["SES_REGION"] == "eu-west-1"
    assert not [name for name in environment if name.startswith("AWS_")]


def test_the_certificate_names_the_url_and_the_mail_host() -> None:
    _, service = configuration.load(values(PUBLIC_URL="https://api.a.test:8443"))
    assert configuration.service_names(service) == ["api.a.test", DOMAIN]


def test_with_tls_off_no_port_for_https_is_public() -> None:
    machine, _ = configuration.load(values(TLS="off"))
    assert "HTTPS_PORT" not in configuration.public_ports(machine)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ports = {name: str(free_port()) for name in PORTS}
    settings = {"SYSTEM_DOMAIN": DOMAIN, "DATA_DIR": str(tmp_path / "data"), "TLS": "off"}
    return {"POSTFINCH_CONFIG": "/dev/null", "LISTEN_ADDRESS": "127.0.0.1", **settings, **ports}


@pytest.fixture
def config(environment: dict[str, str]) -> Iterator[MachineConfig]:
    config = prepare(environment)
    yield config
    os.close(config.lock)


def test_the_first_start_makes_keys_that_only_the_owner_reads(config: MachineConfig) -> None:
    assert config.new_api_key
    assert len(config.api_key) == 40
    for name in ("api_key", "secret.key", configuration.SETTINGS_FILE):
        assert stat.S_IMODE((config.data_dir / name).stat().st_mode) == 0o600
    record = configuration.stored_settings(config.data_dir)
    assert record["SYSTEM_DOMAIN"] == DOMAIN
    assert record["SECRET_KEY"] == config.service.secret_key


def test_a_folder_in_use_is_refused(config: MachineConfig, environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="is in use by another running instance"):
        prepare(environment)


def test_the_second_start_has_the_same_keys_and_shows_none(environment: dict[str, str]) -> None:
    configs = []
    for _ in range(2):
        configs.append(prepare(environment))
        os.close(configs[-1].lock)
    first, second = configs
    assert (first.new_api_key, second.new_api_key) == (True, False)
    assert first.api_key == second.api_key
    assert first.service.secret_key == second.service.secret_key
    assert first.ports == second.ports


def test_a_refused_start_leaves_the_folder_to_the_next(
    environment: dict[str, str], tmp_path: Path
) -> None:
    files = {"TLS": "files", "TLS_CERTIFICATE": str(tmp_path / "c"), "TLS_KEY": str(tmp_path / "k")}
    with pytest.raises(ConfigError, match="TLS_CERTIFICATE and TLS_KEY cannot be used"):
        prepare({**environment, **files})
    pair = self_signed_pair([DOMAIN])
    (tmp_path / "c").write_bytes(pair.certificate)
    (tmp_path / "k").write_bytes(pair.key)
    config = prepare({**environment, **files})
    os.close(config.lock)
    assert config.service.relay_certificate == str(tmp_path / "c")


def test_two_ports_must_differ(environment: dict[str, str]) -> None:
    environment["INBOUND_PORT"] = environment["HTTP_PORT"]
    with pytest.raises(ConfigError, match="INBOUND_PORT"):
        prepare(environment)
    assert not Path(environment["DATA_DIR"]).exists()


def test_children_have_the_local_cloud_and_no_proxy(config: MachineConfig) -> None:
    child = config.child_environment()
    assert child["AWS_ENDPOINT_URL"] == config.ports.cloud_url
    assert child["DATA_DIR"] == str(config.data_dir)
    assert child["API_KEY"] == config.api_key
    assert child["NO_PROXY"] == "127.0.0.1,localhost"


def test_a_worker_runs_for_every_two_cores(
    config: MachineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cores, workers in ((1, 1), (2, 1), (8, 4)):
        monkeypatch.setattr(configuration, "usable_cores", lambda cores=cores: cores)
        assert config.workers == workers


def test_a_folder_without_a_service_has_no_settings(tmp_path: Path) -> None:
    assert configuration.stored_settings(tmp_path) == {}
