from __future__ import annotations

import stat
from pathlib import Path

import pytest

from chalicelib.core import identity_providers
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "postfinch.toml"


def test_texts_numbers_and_truths_are_read_as_the_environment_has_them(path: Path) -> None:
    path.write_text('tls = "off"\nhttp_port = 8080\nbackup_every = 1.5\nconsole = false\n')
    assert config_file.read(path) == {
        "tls": "off",
        "http_port": "8080",
        "backup_every": "1.5",
        "console": "false",
    }


def test_tables_of_providers_are_a_list_in_json(path: Path) -> None:
    path.write_text(
        """
[[oidc_providers]]
id = "acme"
name = "Acme"
issuer = "https://login.acme.example"
client_id = "postfinch"
roles = { "mail admins" = "admin" }
role_claim = "groups"
private_network = true

[[oidc_providers]]
id = "other"
name = "Other"
issuer = "https://other.example"
client_id = "postfinch"
"""
    )
    first, second = identity_providers.read(config_file.read(path)["oidc_providers"])
    assert (first.roles, first.private_network) == ({"mail admins": "admin"}, True)
    assert second.issuer == "https://other.example"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[oidc_providers]]\nid = 2026-01-01", "oidc_providers has a value that JSON does not"),
        ("[oidc_providers]\nid = 'acme'", "oidc_providers must be a text, a number"),
        ("http_prot = 80", "has a name that is no setting: http_prot"),
        ("TLS = 'off'", "has a name that is no setting: TLS"),
        ("trusted_proxies = ['192.0.2.1']", "trusted_proxies must be a text, a number"),
        ("[machine]\ntls = 'off'", "has a name that is no setting: machine"),
        ("tls = off", "is not TOML"),
        (b"\xff", "is not TOML"),
    ],
)
def test_what_is_no_setting_is_refused_with_the_file(
    path: Path, text: str | bytes, reason: str
) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as refusal:
        config_file.read(path)
    assert str(path) in str(refusal.value)
    assert reason in str(refusal.value)


def test_the_environment_wins_and_an_empty_variable_is_none(path: Path) -> None:
    path.write_text('tls = "off"\nhttp_port = 8080\nadmin_email = "ann@a.test"\n')
    environ = {"POSTFINCH_CONFIG": str(path), "HTTP_PORT": "80", "TLS": "", "EDITOR": ""}
    assert config_file.environment(environ) == {
        "POSTFINCH_CONFIG": str(path),
        "EDITOR": "",
        "HTTP_PORT": "80",
        "TLS": "off",
        "ADMIN_EMAIL": "ann@a.test",
    }


def test_a_file_that_was_named_must_be_there(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        config_file.environment({"POSTFINCH_CONFIG": str(path)})
    monkeypatch.setattr(config_file, "PATH", str(tmp_path / "none"))
    assert config_file.environment({"TLS": "off"}) == {"TLS": "off"}


def test_what_is_written_is_read_again_by_its_owner_only(path: Path) -> None:
    values = {"api_key": 'a"\\b', "admin_email": "jürgen@a.test", "tls": "off"}
    for _ in range(2):
        config_file.write(path, values, ["made by a test"])
        assert config_file.read(path) == values
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("# made by a test\n")
    assert list(path.parent.iterdir()) == [path]


def test_control_characters_cannot_be_written(path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        config_file.write(path, {"api_key": "a\nhttp_port = 1"})
    assert not path.exists()
