from __future__ import annotations

from email import message_from_bytes
from email.policy import default

import pytest

from chalicelib.core import clock, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.settings import settings
from chalicelib.generation.chunk import generate_chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.suppression import service as suppression
from chalicelib.suppression.model import BLOCKING
from chalicelib.transmissions.system_mail import send
from infrastructure.bootstrap import first_start
from tests.fake_cloud import queued_work
from tests.unit.suppression.examples import entry

pytestmark = pytest.mark.usefixtures("cloud")


def test_system_mail_is_queued_like_other_mail() -> None:
    first_start("a-key")
    send(to="abuse@shop.test", subject="Verify", text="Open this: http://x/{not a template}")
    assert len(queued_work()) == 1


def test_system_mail_goes_to_mailboxes_that_bounced_before() -> None:
    first_start("a-key")
    to = "abuse@shop.test"
    for kind in BLOCKING:
        suppression.add_all(0, None, [entry(to, kind, "Bounce Rule")])
    send(to=to, subject="Verify", text="text")
    (queue_message,) = queued_work()
    chunk = generate_chunk(read_chunk(queues.read(queue_message)), clock.now_ms())
    assert [message.recipient for message in chunk.delivery_batch.messages] == [to]


def test_a_deployment_without_a_system_domain_refuses_system_mail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_start("a-key")
    monkeypatch.setenv("SYSTEM_DOMAIN", "changed.test")
    settings.cache_clear()
    with pytest.raises(ServiceError):
        send(to="abuse@shop.test", subject="Verify", text="text")
    assert queued_work() == []


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("A {{ B", "From A {{ B"),
        ("{{ address.email }}", "From {{ address.email }}"),
        ("{{{{{ if x }}", "From {{{{{ if x }}"),
        ("A\r\nBcc: x@shop.test", "From A Bcc: x@shop.test"),
    ],
)
def test_nothing_in_system_mail_is_a_template_or_another_header(name: str, subject: str) -> None:
    first_start("a-key")
    send(to="ann@shop.test", subject=f"From {name}", text=f"{name} invites you")
    (queue_message,) = queued_work()
    chunk = generate_chunk(read_chunk(queues.read(queue_message)), clock.now_ms())
    (message,) = chunk.delivery_batch.messages
    mail = message_from_bytes(message.data, policy=default)
    assert mail["subject"] == subject
    assert mail["bcc"] is None
    (line, *_) = f"{name} invites you".splitlines()
    assert line in mail.get_content()
