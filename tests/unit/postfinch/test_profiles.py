from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from postfinch import profiles
from postfinch.commands import app
from postfinch.profiles import NoProfile, Profile

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.isprintable)


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with folders of their own, and nothing in the environment."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("POSTFINCH_URL", "POSTFINCH_API_KEY", "POSTFINCH_PROFILE", "DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


@given(st.dictionaries(NAMES, st.tuples(NAMES, NAMES, st.none() | st.integers(0, 999))))
def test_profiles_come_back_from_their_file(
    tmp_path_factory: pytest.TempPathFactory,
    values: dict[str, tuple[str, str, int | None]],
) -> None:
    entries = {name: Profile(name, *value) for name, value in values.items()}
    path = tmp_path_factory.mktemp("profiles") / "profiles.toml"
    profiles.write(path, entries)
    assert profiles.read(path) == entries
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_address_in_the_environment_comes_before_profiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTFINCH_URL", "https://mail.example.test")
    monkeypatch.setenv("POSTFINCH_API_KEY", "secret")
    profile = profiles.choose(None)
    assert (profile.url, profile.key) == ("https://mail.example.test", "secret")


def test_without_a_service_the_message_says_how_to_start_one() -> None:
    with pytest.raises(NoProfile, match="postfinch run"):
        profiles.choose(None)


def test_a_profile_that_is_missing_is_named() -> None:
    with pytest.raises(NoProfile, match="postfinch profiles add staging"):
        profiles.choose("staging")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text("[staging\n")
    with pytest.raises(NoProfile, match=r"profiles\.toml is not TOML"):
        profiles.read(path)
    path.write_text('[staging]\ncolour = "green"\n')
    with pytest.raises(NoProfile, match="cannot be used"):
        profiles.read(path)


def test_profiles_are_added_listed_and_removed() -> None:
    add = ["profiles", "add", "staging", "--url", "https://x.test", "--key", "k", "--no-check"]
    assert _run(*add).startswith("staging is in ")
    assert _run("profiles", "list") == "staging\thttps://x.test\t\n"
    assert profiles.choose("staging").key == "k"
    assert _run("profiles", "remove", "staging") == ""
    assert _run("profiles", "list") == ""


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output
