from __future__ import annotations

import base64
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from chalicelib.core import settings
from infrastructure.local.supervisor import environment
from infrastructure.local.supervisor.cloud_access import read_secret
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.supervisor.environment import LocalConfig, prepare
from infrastructure.local.supervisor.ports import InternalPorts, choose_ports
from tests.free_ports import free_port


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "API_PORT": str(free_port()),
        "SMTP_PORT": str(free_port()),
        **dict.fromkeys(("CATCH_PORT", "MAILPIT_PORT", "POP3_PORT", "IMAP_PORT"), "0"),
        "DATA_DIR": str(tmp_path / "data"),
    }


@pytest.fixture
def config(environ: dict[str, str]) -> Iterator[LocalConfig]:
    config = prepare(environ)
    yield config
    os.close(config.lock)


def again(environ: dict[str, str], config: LocalConfig) -> LocalConfig:
    """Return the config of the next run on the same data, after this one has ended."""
    fcntl.flock(config.lock, fcntl.LOCK_UN)
    return prepare(environ)


@pytest.mark.parametrize("name", ["API_PORT", "SMTP_PORT"])
@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "8080.0", "８０８０"])
def test_an_invalid_port_is_refused_with_the_name_of_the_setting(
    environ: dict[str, str], name: str, text: str
) -> None:
    with pytest.raises(ConfigError, match=name):
        prepare({**environ, name: text})


@pytest.mark.parametrize("name", ["API_TLS_PORT", "SMTP_TLS_PORT", "API_PORT"])
def test_two_ports_with_one_number_are_refused(environ: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigError, match=f"(SMTP_PORT|{name}).*both"):
        prepare({**environ, name: environ["SMTP_PORT"]})


def test_ports_under_tls_are_chosen_once_beside_ports_of_the_callers_choice(
    environ: dict[str, str], config: LocalConfig
) -> None:
    assert 0 not in (config.api_tls_port, config.smtp_tls_port)
    later = again(environ, config)
    assert later.api_tls_port == config.api_tls_port
    assert later.smtp_tls_port == config.smtp_tls_port
    os.close(later.lock)


def test_tls_is_switched_off_by_the_port_0(environ: dict[str, str]) -> None:
    config = prepare({**environ, "API_TLS_PORT": "0", "SMTP_TLS_PORT": "0"})
    environment = config.child_environment()
    os.close(config.lock)
    assert (config.api_tls_port, config.smtp_tls_port) == (0, 0)
    assert environment["RELAY_TLS_PORTS"] == ""


def test_a_taken_port_is_refused_in_one_line_that_names_it(environ: dict[str, str]) -> None:
    expected = pytest.raises(ConfigError, match=f"port {environ['API_PORT']} .*API_PORT")
    with socket.create_server(("127.0.0.1", int(environ["API_PORT"]))), expected as refusal:
        prepare(environ)
    assert "\n" not in str(refusal.value)


def test_both_servers_cannot_have_one_port(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="must differ"):
        prepare({**environ, "SMTP_PORT": environ["API_PORT"]})


def test_a_second_instance_on_the_same_data_is_refused(
    environ: dict[str, str], config: LocalConfig
) -> None:
    with pytest.raises(ConfigError, match=f"in use by .*process {os.getpid()}"):
        prepare(environ)


def test_a_data_directory_that_cannot_be_made_is_refused(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="DATA_DIR"):
        prepare({**environ, "DATA_DIR": str(tmp_path / "file" / "below")})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAILPIT_ROOT", "/a b"),
        ("MAILPIT_ORIGINS", "*.app.test"),
        ("MAILBOX_TAGS", "no rule"),
        ("MAILBOX_TAGS_FROM", "subject"),
    ],
)
def test_a_choice_about_mailpits_api_that_cannot_work_is_refused(
    environ: dict[str, str], name: str, value: str
) -> None:
    with pytest.raises(ConfigError, match=name):
        prepare({**environ, name: value})


def test_a_setting_of_the_wrong_type_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="RETRY_BASE"):
        prepare({**environ, "RETRY_BASE": "soon"})


def test_a_file_of_passwords_that_is_missing_is_refused(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "passwords"
    names = ("MAILBOX_PASSWORDS", "MAILPIT_PASSWORDS", "MAILPIT_SEND_PASSWORDS")
    for name in names:
        with pytest.raises(ConfigError, match=f"{name}: {path}"):
            prepare({**environ, name: str(path)})
    path.write_text("ann:secret\n")
    os.close(prepare({**environ, **dict.fromkeys(names, str(path))}).lock)


def test_a_key_with_a_space_or_a_line_end_is_refused(environ: dict[str, str]) -> None:
    for key in ("two words", "a\nb", "clé"):
        with pytest.raises(ConfigError, match="API_KEY"):
            prepare({**environ, "API_KEY": key})


def test_secrets_and_ports_are_created_once_and_readable_only_by_their_owner(
    environ: dict[str, str], config: LocalConfig
) -> None:
    assert len(bytes.fromhex(config.api_key)) == 20
    assert len(base64.b64decode(config.secret_key, validate=True)) == 32
    for name in ("api_key", "secret.key"):
        assert (config.data_dir / name).stat().st_mode & 0o777 == 0o600
    next_run = again(environ, config)
    assert next_run.api_key == config.api_key
    assert next_run.secret_key == config.secret_key
    assert next_run.ports == config.ports == InternalPorts.read(config.data_dir)
    os.close(next_run.lock)


def test_services_that_start_at_the_same_time_choose_different_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen_ports = list[int]()
    for number in range(20):
        monkeypatch.setattr(os, "getpid", lambda number=number: 4_000_000 + number)
        folder = tmp_path / str(number)
        folder.mkdir()
        chosen_ports += asdict(choose_ports(folder, ())).values()
    assert len(set(chosen_ports)) == len(chosen_ports) > 100


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ports.json", ""),
        ("ports.json", '{"cloud": 20'),
        ("ports.json", '{"cloud": null}'),
        ("ports.json", "[1]"),
        ("secret.key", ""),
        ("secret.key", "c2hvcnQ="),
        ("secret.key", "\0\0\0\0"),
        ("api_key", "\n"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line_that_names_it_and_stays(
    environ: dict[str, str], name: str, content: str
) -> None:
    path = Path(environ["DATA_DIR"]) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"^{path} is .*: (remove|restore) it[^\n]*$"):
            prepare(environ)
    assert path.read_text() == content


def test_only_an_internal_port_that_is_taken_is_replaced(
    environ: dict[str, str], config: LocalConfig
) -> None:
    with socket.create_server(("127.0.0.1", config.ports.sink)):
        next_run = again(environ, config)
    os.close(next_run.lock)
    assert next_run.ports.sink != config.ports.sink
    assert next_run.ports.cloud == config.ports.cloud


def test_an_api_key_from_the_environment_is_used_and_not_stored(environ: dict[str, str]) -> None:
    config = prepare({**environ, "API_KEY": "mine"})
    os.close(config.lock)
    assert config.child_environment()["API_KEY"] == "mine"
    assert not (config.data_dir / "api_key").exists()


def test_children_get_the_local_values_of_the_settings(config: LocalConfig) -> None:
    environment = config.child_environment()
    assert settings.local_values().items() <= environment.items()
    loaded = settings.load(environment)
    assert loaded.smarthost == f"127.0.0.1:{config.ports.sink}"
    assert loaded.public_url == f"http://localhost:{config.api_port}"
    assert loaded.dns_servers == f"127.0.0.1:{config.ports.dns}"
    assert loaded.tracking_port == config.api_port
    assert loaded.relay_inbound_ports == str(config.ports.inbound)
    assert loaded.delivery_journal == str(config.data_dir / "journal")
    assert loaded.secret_key == config.secret_key


def test_the_port_of_mail_that_comes_in_can_be_named_and_is_found_by_other_programs(
    environ: dict[str, str],
) -> None:
    port = free_port()
    config = prepare({**environ, "INBOUND_PORT": str(port)})
    os.close(config.lock)
    loaded = settings.load(config.child_environment())
    assert loaded.relay_inbound_ports == str(port)
    assert InternalPorts.read(config.data_dir).inbound == port
    with pytest.raises(ConfigError, match="SMTP_PORT and INBOUND_PORT"):
        prepare({**environ, "INBOUND_PORT": str(config.smtp_port)})


@pytest.mark.parametrize(("api_port", "inbound_port"), [(8080, 2526), (2526, 0)])
def test_the_usual_port_of_mail_that_comes_in_is_beside_that_of_senders(
    api_port: int, inbound_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = {"API_PORT": api_port, "SMTP_PORT": 2525, "INBOUND_PORT": 0}
    monkeypatch.setattr(environment, "is_free", lambda *_: True)
    assert environment._inbound_port(ports) == inbound_port
    assert environment._inbound_port(ports | {"SMTP_PORT": 2587}) == 0
    assert environment._inbound_port(ports | {"INBOUND_PORT": 2600}) == 2600
    monkeypatch.setattr(environment, "is_free", lambda *_: False)
    assert environment._inbound_port(ports) == 0


def test_settings_of_the_caller_override_local_values(environ: dict[str, str]) -> None:
    config = prepare({**environ, "RETRY_BASE": "7", "PUBLIC_URL": "https://mail.example"})
    os.close(config.lock)
    environment = config.child_environment()
    assert environment["RETRY_BASE"] == "7"
    assert environment["PUBLIC_URL"] == "https://mail.example"


@pytest.mark.parametrize(
    ("public_url", "port"),
    [
        ("http://localhost:9090", 9090),
        ("http://localhost", 80),
        ("https://localhost:9443", None),
        ("", None),
    ],
)
def test_tracking_domains_have_the_port_at_which_users_reach_this_machine(
    environ: dict[str, str], public_url: str, port: int | None
) -> None:
    config = prepare({**environ, "PUBLIC_URL": public_url})
    os.close(config.lock)
    loaded = settings.load(config.child_environment())
    assert loaded.tracking_port == (port or config.api_port)
    assert loaded.public_url == (public_url or f"http://localhost:{config.api_port}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOCAL_NAMES", "http://x"),
        ("LOCAL_PEERS", "bridge"),
        ("LOG_OUTPUT", "nowhere"),
        ("LOCAL_DURABILITY", "never"),
        ("PUBLIC_URL", "http://localhost:x"),
        ("RELEASE_HOST", "mail.test"),
        ("FORWARD_MATCHING", "*"),
        ("CHAOS", "often"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_its_name(
    environ: dict[str, str], name: str, value: str
) -> None:
    with pytest.raises(ConfigError, match=name):
        prepare({**environ, name: value})


def test_a_smarthost_set_by_the_caller_requires_tls(
    environ: dict[str, str],
) -> None:
    config = prepare({**environ, "SMARTHOST": "mail.example:587", "DELIVER": "true"})
    os.close(config.lock)
    loaded = settings.load(config.child_environment())
    assert (loaded.smarthost, loaded.smarthost_tls) == ("mail.example:587", "required")
    assert (config.way_out, config.notices) == ("mail.example:587", ())


def test_a_smarthost_is_not_used_where_no_mail_may_leave(environ: dict[str, str]) -> None:
    smarthost = {"SMARTHOST": "mail.example:587", "SMARTHOST_TLS": "required", "MX_PORT": "25"}
    login = {"SMARTHOST_USERNAME": "u", "SMARTHOST_PASSWORD": "p"}
    config = prepare({**environ, **smarthost, **login})
    os.close(config.lock)
    loaded = settings.load(config.child_environment())
    assert (loaded.smarthost, loaded.mx_port) == (
        f"127.0.0.1:{config.ports.sink}",
        config.ports.sink,
    )
    assert (loaded.smarthost_tls, loaded.smarthost_username, loaded.deliver) == ("off", "", False)
    assert config.way_out == ""
    (notice,) = config.notices
    assert notice.endswith("are set, but no mail leaves this machine without --deliver")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"SMARTHOST_TLS": "none"}, "SMARTHOST_TLS='none' is not allowed: it must be required"),
        ({"SMARTHOST_USERNAME": "u"}, "SMARTHOST_USERNAME is set without SMARTHOST_PASSWORD"),
        ({"GEOIP_DATABASE": "/nowhere"}, "GEOIP_DATABASE='/nowhere' is not allowed"),
    ],
)
def test_a_wrong_setting_is_refused_even_where_it_would_not_be_used(
    environ: dict[str, str], changes: dict[str, str], text: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        prepare({**environ, **changes})
    assert str(refusal.value).startswith(text)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "is_sink"),
    [
        ({}, True),
        ({"DNS_SERVERS": "192.0.2.53"}, True),
        ({"DNS_SERVERS": "192.0.2.53", "DELIVER": "true"}, False),
        ({"MX_PORT": "25", "DELIVER": "true"}, False),
    ],
)
def test_mail_hosts_of_the_local_dns_are_the_sink(
    environ: dict[str, str], changes: dict[str, str], *, is_sink: bool
) -> None:
    config = prepare({**environ, **changes})
    os.close(config.lock)
    port = settings.load(config.child_environment()).mx_port
    assert port == (config.ports.sink if is_sink else 25)


def test_credentials_of_the_callers_cloud_account_are_not_passed_on(
    environ: dict[str, str],
) -> None:
    theirs = {
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ACCESS_KEY_ID": "AKIAREAL",
        "AWS_ENDPOINT_URL_SQS": "https://sqs.eu-west-1.amazonaws.com",
        "HTTP_PROXY": "http://proxy.example",
        "NO_PROXY": "intra.example",
    }
    config = prepare({**environ, **theirs})
    os.close(config.lock)
    environment = config.child_environment()
    assert float(environment["STARTED_AT"]) <= time.time()
    assert environment["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{config.ports.cloud}"
    assert environment["AWS_ACCESS_KEY_ID"] == "000000000000"
    assert environment["AWS_SECRET_ACCESS_KEY"] == read_secret(config.data_dir)
    assert not environment.keys() & {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS"}
    assert environment["NO_PROXY"] == "intra.example,127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CATCH", "forward"),
        ("CATCH_INBOX", "sender"),
        ("CATCH_PASSWORDS", "/nowhere/passwords"),
        ("MAILBOX_MAX_AGE", "soon"),
    ],
)
def test_a_choice_about_caught_mail_that_cannot_work_is_refused(
    environ: dict[str, str], name: str, text: str
) -> None:
    with pytest.raises(ConfigError, match=name):
        prepare({**environ, name: text})


def test_caught_mail_is_not_sent_where_mail_may_leave_the_machine(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"CATCH=send.*DELIVER=true"):
        prepare({**environ, "CATCH": "send", "DELIVER": "true"})


def test_a_file_of_passwords_is_found_by_processes_in_another_directory(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("passwords").write_text("ann:secret\n")
    choices = {"MAILPIT_PASSWORDS": "passwords", "MAILPIT_SEND_PASSWORDS": "any"}
    config = prepare({**environ, "CATCH_PASSWORDS": "passwords", **choices})
    os.close(config.lock)
    child = config.child_environment()
    for name in ("CATCH_PASSWORDS", "MAILPIT_PASSWORDS"):
        assert child[name] == str(tmp_path / "passwords")
    # This is no path
    assert child["MAILPIT_SEND_PASSWORDS"] == "any"
