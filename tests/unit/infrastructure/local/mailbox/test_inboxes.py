from __future__ import annotations

import pytest

from infrastructure.local.mailbox.inboxes import divided, tag_of


@pytest.mark.parametrize(
    ("recipient", "tag"),
    [
        ("ann+Red@inbox.test", "red"),
        ("ann+a+b@inbox.test", "a+b"),
        ("ann@inbox+x.test", ""),
        ("ann+@inbox.test", ""),
        ("root", ""),
    ],
)
def test_a_tag_is_what_follows_the_first_plus_of_a_local_part(recipient: str, tag: str) -> None:
    assert tag_of(recipient) == tag


def test_recipients_without_a_name_share_the_inbox_for_others() -> None:
    recipients = ["ann@One.test", "root", "bob@one.test"]
    assert divided("recipient-domain", "x", recipients) == {
        "one.test": ["ann@One.test", "bob@one.test"],
        "": ["root"],
    }
