from __future__ import annotations

from dataclasses import dataclass, field, fields

import pytest

from chalicelib.core import settings as module
from chalicelib.core.setting_values import BOOLEAN
from chalicelib.core.settings import MIB, Settings, load, local_values, settings, table


@dataclass
class Switch:
    flag: bool = field(default=False, metadata={"allowed": BOOLEAN})


def test_an_empty_environment_gives_the_defaults() -> None:
    assert load({}) == Settings()


def test_a_setting_is_read_from_its_name_in_upper_case() -> None:
    assert load({"SMARTHOST": "mail.test:2600"}).smarthost == "mail.test:2600"


def test_names_of_other_programs_are_ignored() -> None:
    assert load({"PATH": "/bin", "smarthost": "x", "TABLE": "y"}) == Settings()


def test_a_value_has_the_type_of_its_field() -> None:
    loaded = load({"CHUNK_RECIPIENTS": "7", "RETRY_BASE": "0.5", "STAGE": "12"})
    assert (loaded.chunk_recipients, loaded.retry_base, loaded.stage) == (7, 0.5, "12")


@pytest.mark.parametrize("text", ["", "many", "1.5", "0x10"])
def test_the_error_of_a_wrong_number_names_the_setting(text: str) -> None:
    with pytest.raises(ValueError, match="CHUNK_RECIPIENTS"):
        load({"CHUNK_RECIPIENTS": text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("DELIVERY_PROCESSES", "-1"), ("DELIVERY_CONTAINER", "east-small"), ("MX_PORT", "0")),
        *(("DELIVERY_COMMIT_WIDTH", "0"), ("DELIVERY_CONNECTIONS", "0"), ("TRANSPORT", "foo")),
        *(("DELIVERY_DOMAIN_CONNECTIONS", "0"), ("DELIVERY_UNITS", "0")),
    ],
)
def test_a_value_with_which_nothing_could_be_delivered_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"{name}='{text}' is not allowed: it must be "):
        load({name: text})


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "soon"])
def test_a_time_that_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RETRY_BASE"):
        load({"RETRY_BASE": text})


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("1", True), ("no", False), ("", False)]
)
def test_a_boolean_is_read_in_the_usual_spellings(text: str, value: bool) -> None:
    assert module._read(fields(Switch)[0], text) is value


def test_a_wrong_boolean_is_refused() -> None:
    with pytest.raises(ValueError, match="FLAG='maybe' is not allowed: it must be true or false"):
        module._read(fields(Switch)[0], "maybe")


def test_the_local_values_can_be_read_back_and_differ_from_the_defaults() -> None:
    local = load(local_values())
    for each in fields(Settings):
        local_value = each.metadata["local"]
        if local_value is None:
            assert getattr(local, each.name) == each.default
        else:
            assert getattr(local, each.name) == local_value
            assert local_value != each.default


@pytest.mark.spec("9-r3")
def test_names_of_tables_queues_and_bucket_begin_with_the_stage() -> None:
    loaded = Settings(stage="blue")
    assert loaded.table("events") == "postfinch-blue-events"
    assert loaded.queue("delivery") == "postfinch-blue-delivery"
    assert loaded.bucket_name == "postfinch-blue"
    assert Settings(stage="blue", bucket="mine").bucket_name == "mine"


def test_the_table_has_a_row_for_each_setting() -> None:
    rows = table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [each.name.upper() for each in fields(Settings)]
    assert f"| `MAX_BODY_BYTES` | `{6 * MIB}` | `{50 * MIB}` |" in table()
    assert "| `BUCKET` | empty |  |" in table()


def test_no_cell_of_the_table_breaks_its_row() -> None:
    assert {row.count("|") for row in table().splitlines()} == {6}


def test_printing_the_settings_does_not_print_secrets() -> None:
    text = repr(Settings(secret_key="hush", smarthost_password="hush", stage="seen"))
    assert "hush" not in text
    assert "seen" in text


def test_the_settings_of_the_process_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settings.cache_clear()
    first = settings()
    monkeypatch.setenv("STAGE", "another")
    assert settings() is first
    settings.cache_clear()
    assert settings().stage == "another"
    monkeypatch.undo()
    settings.cache_clear()
