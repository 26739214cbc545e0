"""Each setting admits what its words say, and nothing that could not work."""

from __future__ import annotations

from dataclasses import fields

import pytest

from chalicelib.core import setting_values as values
from chalicelib.core.setting_values import Allowed
from chalicelib.core.settings import Settings, load

ALLOWED: dict[str, Allowed] = {each.name: each.metadata["allowed"] for each in fields(Settings)}


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_defaults_and_local_values_are_allowed(setting: object) -> None:
    metadata, default = setting.metadata, setting.default  # type: ignore[attr-defined]
    assert metadata["allowed"].admits(str(default))
    if metadata["local"] is not None:
        assert metadata["allowed"].admits(str(metadata["local"]))


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_what_is_allowed_fits_the_type(setting: object) -> None:
    words = setting.metadata["allowed"].words  # type: ignore[attr-defined]
    kind = str(setting.type)  # type: ignore[attr-defined]
    assert (words == "true or false") is (kind == "bool")
    assert ("number" in words and "port numbers" not in words) is (kind in ("int", "float"))
    assert not (kind == "float" and "whole" in words)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("smarthost", "a|a:25|[::1]:25|[::1]|::1|2001:db8::1|192.0.2.1:587|smtp_1:25"),
        ("dns_servers", "127.0.0.1:53, 127.0.0.2|::1|[::1]:5353|"),
        ("public_url", "https://a|https://a:1/b|http://[::1]:80|http://localhost:8080"),
        ("system_domain", "a.b|Post.test|localhost"),
        ("retry_factor", "1|1.5|20"),
        ("retry_cap", "1e9|0.5|.5|43200.0"),
        ("relay_ports", "25|25, 2526"),
        ("relay_host", "::|0.0.0.0|localhost"),
        ("seed_addresses", "x@seeds.test, y@seeds.test"),
        ("tenant_domain", "t{account}.example|{account}.mail.{system}"),
        ("tracking_target", "Go.{system}|track.example.com"),
        ("tracking_hosts", "old.example.com, Older.example.com:8443"),
        ("mx_port", "1|25|65535"),
        ("log_level", "DEBUG|CRITICAL"),
    ],
)
def test_a_value_that_works_is_admitted(name: str, texts: str) -> None:
    assert [text for text in texts.split("|") if not ALLOWED[name].admits(text)] == []


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("smarthost", "|a:0|a:70000|a b|user@host|smtp://h|999.1.1.1:25|[::zz]:1|1::2::3|-a"),
        ("smarthost_tls", "none|REQUIRED|"),
        ("dns_servers", "localhost|1.1.1.1:0|300.1.1.1|1.1.1.1,"),
        (
            "public_url",
            "|a|https://a/|https://a:99999|https://u@a|ftp://a|https://a/api/v1|http://a?x",
        ),
        ("system_domain", "|a_b.c|a..b|Bücher.de|-a.b|" + "x" * 64),
        ("retry_factor", "0.5|0|-1"),
        ("retry_cap", "0|0.0|-1|nan|inf|soon"),
        ("events_retention", "0|-1|1.5"),
        ("relay_ports", "25,|http|0"),
        ("relay_host", "1.2.3|a b"),
        ("secret_key", "x|" + "A" * 44),
        ("restricted_domains", "a,,b|a b"),
        ("tenant_domain", "x.{system}|{account}.{other}"),
        ("mx_port", "0|65536|-1"),
        ("log_level", "info|TRACE"),
        ("log_format", "xml"),
        ("tracing", "active"),
        ("tracking_fetch", "some"),
        ("seed_addresses", "nobody"),
        ("event_targets", "arn:aws:s3:::bucket"),
        ("stage", "|Prod|a_b"),
    ],
)
def test_a_value_that_cannot_work_is_not_admitted(name: str, texts: str) -> None:
    assert [text for text in texts.split("|") if ALLOWED[name].admits(text)] == []


def test_the_error_is_one_line_with_setting_value_and_what_is_allowed() -> None:
    expected = "SMARTHOST_TLS='none' is not allowed: it must be required, opportunistic or off"
    with pytest.raises(ValueError, match=f"^{expected}$"):
        load({"SMARTHOST_TLS": "none"})
    with pytest.raises(ValueError, match=r"^SMARTHOST='a\\nb' is not allowed: it must be host or"):
        load({"SMARTHOST": "a\nb"})


def test_the_error_does_not_show_a_secret() -> None:
    with pytest.raises(ValueError, match=r"^SECRET_KEY is not allowed: it must be the base64"):
        load({"SECRET_KEY": "hush"})


def test_a_value_that_may_be_empty_says_so() -> None:
    assert not values.PORTS.admits("")
    assert values.PORTS.or_empty().admits("")
    assert values.PORTS.or_empty().words == f"{values.PORTS.words}, or empty"
