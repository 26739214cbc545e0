"""Mailpit's environment variables are those of this service, where it has a counterpart."""

from __future__ import annotations

from pathlib import Path
from stat import S_IMODE

import pytest

from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.tag_rules import read_rules
from infrastructure.local.mailpit.variables import translated, with_their_name
from infrastructure.local.releasing.choices import ReleaseChoices


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"MP_SMTP_BIND_ADDR": "0.0.0.0:2500"}, {"CATCH_PORT": "2500"}),
        ({"MP_UI_BIND_ADDR": "[::]:8000"}, {"MAILPIT_PORT": "8000"}),
        ({"MP_POP3_BIND_ADDR": ":110"}, {"POP3_PORT": "110"}),
        ({"MP_MAX_MESSAGES": "500"}, {"MAILBOX_MAX_MESSAGES": "500"}),
        ({"MP_MAX_AGE": "3d"}, {"MAILBOX_MAX_AGE": "3d"}),
        ({"MP_SMTP_AUTH_FILE": "/x"}, {"CATCH_PASSWORDS": "/x"}),
        ({"MP_POP3_AUTH_FILE": "/x"}, {"MAILBOX_PASSWORDS": "/x"}),
        ({"MP_WEBHOOK_URL": "http://x"}, {"MAILPIT_WEBHOOK": "http://x"}),
        ({"MP_WEBHOOK_LIMIT": "5"}, {"MAILPIT_WEBHOOK_INTERVAL": "5"}),
        ({"MP_WEBHOOK_DELAY": "5"}, {"MAILPIT_WEBHOOK_DELAY": "5"}),
        ({"MP_ENABLE_PROMETHEUS": "true"}, {"MAILPIT_METRICS": "true"}),
        ({"MP_ENABLE_PROMETHEUS": "false"}, {}),
        ({"MP_UI_AUTH_FILE": "/x"}, {"MAILPIT_PASSWORDS": "/x"}),
        ({"MP_SEND_API_AUTH_FILE": "/x"}, {"MAILPIT_SEND_PASSWORDS": "/x"}),
        ({"MP_SEND_API_AUTH_ACCEPT_ANY": "1"}, {"MAILPIT_SEND_PASSWORDS": "any"}),
        ({"MP_SMTP_ALLOWED_RECIPIENTS": "@a$"}, {"CATCH_RECIPIENTS": "/@a$/"}),
        ({"MP_WEBROOT": "/mail/"}, {"MAILPIT_ROOT": "/mail/"}),
        ({"MP_API_CORS": "*"}, {"MAILPIT_ORIGINS": "*"}),
        ({"MP_LABEL": "shop"}, {"MAILPIT_LABEL": "shop"}),
        ({"MP_ENABLE_CHAOS": "true"}, {"CHAOS": "true"}),
        ({"MP_ENABLE_CHAOS": "1", "MP_CHAOS_TRIGGERS": "Sender:451:5"}, {"CHAOS": "Sender:451:5"}),
        ({"MP_ENABLE_SPAMASSASSIN": "spam:783"}, {"SPAM_CHECK": "spamd://spam:783"}),
        ({"MP_ALLOW_INTERNAL_HTTP_REQUESTS": "yes"}, {"LINK_CHECK_PRIVATE": "true"}),
        ({"MP_TAGS_DISABLE": "x-tags"}, {"MAILBOX_TAGS_FROM": "plus-addresses"}),
        ({"MP_TAGS_DISABLE": "plus-addresses,x-tags"}, {"MAILBOX_TAGS_FROM": "none"}),
        ({"MP_TAGS_USERNAME": "1"}, {"MAILBOX_TAGS_FROM": "x-tags,plus-addresses,login"}),
        ({"MP_TAGS_TITLE_CASE": "true"}, {"MAILBOX_TAGS_TITLES": "true"}),
        ({"MP_TAG": '"Big, Shop=from:a b"  t2=c'}, {"MAILBOX_TAGS": "Big, Shop=from:a b; t2=c"}),
        ({"MP_MAX_MESSAGE_SIZE": "50", "MP_SMTP_AUTH_ACCEPT_ANY": "1"}, {}),
        ({"MP_USE_MESSAGE_DATES": "false", "MP_SMTP_AUTH_ALLOW_INSECURE": "true"}, {}),
        ({"MP_DISABLE_VERSION_CHECK": "1", "MP_QUIET": "no", "MP_UI_AUTH": " "}, {}),
    ],
)
def test_a_variable_with_a_counterpart_gets_no_line(
    theirs: dict[str, str], ours: dict[str, str]
) -> None:
    assert translated({"PATH": "x", **theirs}) == ({"PATH": "x", **ours}, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MP_UNKNOWN", "secret"),
        ("MP_SMTP_TLS_CERT", "secret"),
        ("MP_USE_MESSAGE_DATES", "true"),
        ("MP_SMTP_BIND_ADDR", "unix:/secret:666x"),
        ("MP_ENABLE_SPAMASSASSIN", "postmark"),
        ("MP_TAGS_CONFIG", "/no/secret"),
        ("MP_SMTP_RELAY_CONFIG", "/no/secret"),
        ("MP_SMTP_RELAY_HOST", "secret"),
        ("MP_SMTP_FORWARD_HOST", "secret"),
        ("MP_DATABASE", "https://secret"),
    ],
)
def test_one_without_gets_one_line_without_its_value(name: str, value: str) -> None:
    environ, (line,) = translated({name: value})
    assert environ in ({}, {"CATCH_TLS": "optional"})
    assert line.startswith(f"{name} is not used: ")
    assert line.endswith(".")
    assert "secret" not in line


def test_ours_win() -> None:
    ours = {
        "CATCH_PORT": "1",
        "MAILPIT_PORT": "2",
        "MAILBOX_MAX_MESSAGES": "3",
        "DATA_DIR": "/data",
        "CATCH_PASSWORDS": "/x",
        "MAILBOX_TAGS": "a=b",
        "RELEASE_HOST": "smtp://ours.test",
        "RELEASE_RECIPIENTS": "a@ours.test",
    }
    theirs = {
        "MP_SMTP_BIND_ADDR": ":9",
        "MP_UI_BIND_ADDR": ":9",
        "MP_MAX_MESSAGES": "9",
        "MP_DATABASE": "/data/mailpit.db",
        "MP_SMTP_AUTH": "a:b",
        "MP_TAG": "c=d",
        "MP_SMTP_RELAY_HOST": "theirs.test",
    }
    assert translated({**ours, **theirs}) == (ours, [])


def test_an_error_names_the_variable_that_the_user_wrote() -> None:
    theirs = {"MP_MAX_MESSAGES": "many"}
    error = "MAILBOX_MAX_MESSAGES='many' is not a whole number"
    assert with_their_name(error, theirs) == f"{error} (set by MP_MAX_MESSAGES)"
    assert with_their_name(error, {**theirs, "MAILBOX_MAX_MESSAGES": "many"}) == error
    assert with_their_name("CATCH_PORT is taken", theirs) == "CATCH_PORT is taken"


def test_tls_is_offered_where_a_certificate_asks_for_it() -> None:
    certificate = {"MP_SMTP_TLS_CERT": "sans:localhost", "MP_SMTP_TLS_KEY": "x"}
    assert translated(certificate)[0] == {"CATCH_TLS": "optional"}
    required = {**certificate, "MP_SMTP_REQUIRE_STARTTLS": "true"}
    assert translated(required)[0] == {"CATCH_TLS": "starttls"}


def test_a_host_to_bind_is_told_not_to_be_used() -> None:
    environ, (line,) = translated({"MP_UI_BIND_ADDR": "192.0.2.1:80"})
    assert environ == {"MAILPIT_PORT": "80"}
    assert "its host is not" in line


def test_the_address_of_figures_is_told_not_to_be_used() -> None:
    environ, (line,) = translated({"MP_ENABLE_PROMETHEUS": "0.0.0.0:9090"})
    assert environ == {"MAILPIT_METRICS": "true"}
    assert "/metrics of MAILPIT_PORT" in line


def test_mail_is_kept_beside_the_database(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "mailpit.db"):
        environ, lines = translated({"MP_DATABASE": str(path)})
        assert (environ, lines) == ({"DATA_DIR": str(tmp_path / "postfinch")}, [])
    data = {"DATA_DIR": str(tmp_path)}
    assert translated({**data, "MP_DATA_FILE": str(tmp_path / "x.db")}) == (data, [])
    _, (line,) = translated({**data, "MP_DATABASE": "/elsewhere/x.db"})
    assert "mail is kept in DATA_DIR" in line


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MP_SMTP_AUTH", "CATCH_PASSWORDS"),
        ("MP_UI_AUTH", "MAILPIT_PASSWORDS"),
        ("MP_SEND_API_AUTH", "MAILPIT_SEND_PASSWORDS"),
    ],
)
def test_logins_are_kept_in_a_file_for_the_owner_only(
    tmp_path: Path, theirs: str, ours: str
) -> None:
    data_dir = tmp_path / "data"
    environ, lines = translated({"DATA_DIR": str(data_dir), theirs: "a:b  c:d"})
    assert lines == []
    path = Path(environ[ours])
    assert path.read_text() == "a:b\nc:d\n"
    assert (path.parent, S_IMODE(path.stat().st_mode)) == (data_dir, 0o600)
    assert theirs not in environ


def test_logins_that_may_send_go_before_anybody() -> None:
    theirs = {"MP_SEND_API_AUTH_FILE": "/x", "MP_SEND_API_AUTH_ACCEPT_ANY": "true"}
    environ, (line,) = translated(theirs)
    assert environ == {"MAILPIT_SEND_PASSWORDS": "/x"}
    assert line.startswith("MP_SEND_API_AUTH_ACCEPT_ANY is not used: ")


def test_tag_rules_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tags.yaml"
    path.write_text("filters:\n  - match: 'from:shop; subject:\"a b\"'\n    tags: Shop,Two\n")
    environ, lines = translated({"MP_TAG": "One=x", "MP_TAGS_CONFIG": str(path)})
    assert lines == []
    rules = read_rules(environ)
    assert [rule.tags for rule in rules] == [("One",), ("Shop", "Two")]
    assert len(rules[1].conditions) == 2


def test_releases_and_forwarding_need_a_list_of_recipients(tmp_path: Path) -> None:
    relay = {
        "MP_SMTP_RELAY_HOST": "mail.test",
        "MP_SMTP_RELAY_PORT": "587",
        "MP_SMTP_RELAY_STARTTLS": "true",
        "MP_SMTP_RELAY_AUTH": "plain",
        "MP_SMTP_RELAY_USERNAME": "me@mail.test",
        "MP_SMTP_RELAY_PASSWORD": "a/b:c",  # pragma: allowlist secret
        "MP_SMTP_RELAY_ALLOWED_RECIPIENTS": r"@shop\.test$",
        "MP_SMTP_RELAY_MATCHING": "^ann@",
    }
    environ, lines = translated(relay)
    assert lines == []
    choices = ReleaseChoices.read(environ)
    assert choices.host
    assert (choices.host.host, choices.host.port) == ("mail.test", 587)
    assert (choices.host.username, choices.host.password) == ("me@mail.test", "a/b:c")
    assert choices.recipients.admits("x@shop.test")
    assert not choices.recipients.admits("x@shop.test.evil")
    assert choices.forward_matching == "/^ann@/"


def test_forwarding_of_everything_goes_to_its_addresses(tmp_path: Path) -> None:
    path = tmp_path / "forward.yaml"
    path.write_text("host: mail.test\nport: 465\ntls: true\nto: a@b.test,c@d.test\n")
    environ, lines = translated({"MP_SMTP_FORWARD_CONFIG": str(path)})
    assert lines == []
    choices = ReleaseChoices.read(environ)
    assert choices.host
    assert (choices.host.scheme, choices.host.port) == ("smtps", 465)
    assert choices.forward_to == ("a@b.test", "c@d.test")


def test_what_is_translated_can_be_read() -> None:
    environ, _ = translated(
        {
            "MP_MAX_AGE": "12h",
            "MP_MAX_MESSAGES": "5",
            "MP_WEBROOT": "x",
            "MP_TAGS_USERNAME": "true",
            "MP_TAGS_DISABLE": "plus-addresses",
        }
    )
    assert CatchChoices.read(environ).max_age == 12 * 3600
    assert MailpitChoices.read(environ).root == "/x"
    assert TagChoices.read(environ).sources == {"x-tags", "login"}
