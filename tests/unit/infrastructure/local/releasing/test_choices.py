"""What is let out is the user's choice, and choices that do not go together end the start."""

from __future__ import annotations

import pytest

from infrastructure.local.releasing.chaos import Triggers
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.matching import Matching
from infrastructure.local.releasing.recipients import AllowedRecipients
from infrastructure.local.releasing.relay_host import RelayHost

HOST = {"RELEASE_HOST": "smtp://mail.test", "RELEASE_RECIPIENTS": "*@ours.test"}


def test_without_settings_nothing_leaves() -> None:
    choices = ReleaseChoices.read({})
    assert choices == ReleaseChoices()
    assert choices.warning == ""
    assert not choices.recipients.admits("a@ours.test")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("smtp://mail.test", RelayHost("smtp", "mail.test", 25)),
        ("smtps://mail.test", RelayHost("smtps", "mail.test", 465)),
        ("smtp+starttls://mail.test", RelayHost("smtp+starttls", "mail.test", 587)),
        ("smtp://[::1]:2525/", RelayHost("smtp", "::1", 2525)),
        (
            "smtps://ann%40a.test:p%3Ass@mail.test:1",  # pragma: allowlist secret
            RelayHost("smtps", "mail.test", 1, "ann@a.test", "p:ss"),
        ),
    ],
)
def test_a_host_is_named_by_a_url(url: str, host: RelayHost) -> None:
    choices = ReleaseChoices.read({**HOST, "RELEASE_HOST": url})
    assert choices.host == host


def test_what_people_see_has_no_password() -> None:
    url = "smtps://ann:secret-word@mail.test"  # pragma: allowlist secret
    choices = ReleaseChoices.read({**HOST, "RELEASE_HOST": url})
    assert choices.warning == (
        "Mail of the mailbox can be released by mail.test:465 to *@ours.test."
    )
    assert "secret-word" not in repr(choices)


def test_forwarding_is_told_loudly() -> None:
    environ = {**HOST, "FORWARD_MATCHING": "inbox:shop", "FORWARD_TO": "a@ours.test"}
    assert ReleaseChoices.read(environ).warning == (
        "Mail of the mailbox that matches 'inbox:shop' is forwarded by mail.test:25 to a@ours.test."
    )


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"RELEASE_HOST": "smtp://mail.test"}, "RELEASE_HOST needs RELEASE_RECIPIENTS"),
        ({**HOST, "RELEASE_HOST": "http://mail.test"}, "RELEASE_HOST: it is no URL"),
        ({**HOST, "RELEASE_HOST": "mail.test:25"}, "RELEASE_HOST: it is no URL"),
        ({**HOST, "RELEASE_HOST": "smtp://mail.test:port"}, "RELEASE_HOST: it is no URL"),
        ({**HOST, "RELEASE_HOST": "smtp://a:p@m.test?x"}, "RELEASE_HOST: it has more"),
        ({**HOST, "RELEASE_RECIPIENTS": "ours.test"}, "RELEASE_RECIPIENTS: 'ours.test'"),
        ({**HOST, "RELEASE_RECIPIENTS": "/(/"}, "RELEASE_RECIPIENTS: /(/ is no regular"),
        ({"FORWARD_MATCHING": "*"}, "need RELEASE_HOST"),
        ({**HOST, "FORWARD_TO": "a@ours.test"}, "FORWARD_TO needs FORWARD_MATCHING"),
        (
            {**HOST, "FORWARD_MATCHING": "*", "FORWARD_TO": "a@else.test"},
            "FORWARD_TO: RELEASE_RECIPIENTS does not allow a@else.test",
        ),
        ({**HOST, "FORWARD_MATCHING": "*", "FORWARD_TO": "nobody"}, "FORWARD_TO: 'nobody'"),
        ({**HOST, "FORWARD_MATCHING": "before:never"}, "FORWARD_MATCHING='before:never'"),
        ({"LINK_CHECK_PRIVATE": "maybe"}, "LINK_CHECK_PRIVATE='maybe'"),
        ({"CHAOS": "maybe"}, "CHAOS='maybe'"),
    ],
)
def test_choices_that_cannot_be_have_one_line_for_the_user(
    environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        ReleaseChoices.read(environ)
    assert problem in str(error.value)
    assert ":p@" not in str(error.value)


def test_chaos_and_private_links_are_off_until_asked_for() -> None:
    choices = ReleaseChoices.read({"CHAOS": "true", "LINK_CHECK_PRIVATE": "true"})
    assert choices.chaos == Triggers.of({})
    assert choices.checks_private_links


@pytest.mark.parametrize(
    ("text", "address", "admits"),
    [
        ("a@ours.test", "A@OURS.test", True),
        ("a@ours.test", "b@ours.test", False),
        ("a@ours.test", "xa@ours.test", False),
        ("*@ours.test", "b@ours.test", True),
        ("*@ours.test", "b@ours.test.evil.test", False),
        ("*@ours.test", "b@sub.ours.test", False),
        ("*@*.ours.test, a@b.test", "a@b.test", True),
        ("*@münchen.test", "a@xn--mnchen-3ya.test", True),
        ("*", "x@anywhere.test", True),
        ("*", f"{'x' * 300}@anywhere.test", False),
        (r"/@ours\.test$/", "b@ours.test", True),
        (r"/@ours\.test$/", "b@ours.test.evil.test", False),
        ("", "b@ours.test", False),
    ],
)
def test_mail_goes_to_allowed_addresses_only(text: str, address: str, *, admits: bool) -> None:
    assert AllowedRecipients.read(text).admits(address) is admits


@pytest.mark.parametrize(
    ("text", "recipients"),
    [
        ("*@a.test", ["x@a.test"]),
        ("y@B.test", ["y@b.test"]),
        (r"/b\.test$/", ["y@b.test"]),
        ("subject:x", ["x@a.test", "y@b.test"]),
        ("*", ["x@a.test", "y@b.test"]),
    ],
)
def test_a_pattern_of_recipients_counts_for_those_only(text: str, recipients: list[str]) -> None:
    assert Matching.read(text).recipients_of(["x@a.test", "y@b.test"]) == recipients
