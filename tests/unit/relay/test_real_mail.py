"""Messages of real shapes come in as they are, by DATA and by chunks, and are worked off."""

from __future__ import annotations

import importlib.util
import re
import smtplib
from collections.abc import Callable
from pathlib import Path

import pytest

from chalicelib.core import queues
from chalicelib.core.queue_event import QueueEvent
from chalicelib.core.settings import settings
from chalicelib.inbound import worker
from chalicelib.received_mail.inbound_queue import QUEUE
from relay.inbound import MailAcceptor
from relay.services import Inbound
from tests.fake_cloud import queued
from tests.fuzz.targets import TARGETS
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import FakeInboundStore, Wire

_ROOT = Path(__file__).parents[1]
_LINE_END = re.compile(rb"\r\n|\r|\n")
#: Targets of the fuzzers whose inputs are messages
_MESSAGES = ("mail", "prebuilt", "outgoing", "domain-reports", "received-mail")
_BEGIN = b"MAIL FROM:<ann@sender.test>\r\nRCPT TO:<help@inbound.test>\r\n"


def corpus() -> dict[str, bytes]:
    """Return the messages of Python's tests, of mailparser's and of the fuzzers, with CRLF."""
    spec = importlib.util.find_spec("test.test_email")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else Path("missing")
    paths = [*folder.glob("*.txt"), *(_ROOT / "received_mail" / "mails").glob("*.eml")]
    messages = {path.name: path.read_bytes() for path in sorted(paths)}
    for target in TARGETS:
        if target.name in _MESSAGES:
            messages |= {f"{target.name} {n}": seed for n, seed in enumerate(target.seeds)}
    return {name: _LINE_END.sub(b"\r\n", content) for name, content in messages.items()}


CORPUS = {
    name: content if content.endswith(b"\r\n") else content + b"\r\n"
    for name, content in corpus().items()
    if b"\0" not in content
}


def stuffed(content: bytes) -> bytes:
    return (b"\r\n" + content).replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n"


def test_every_message_comes_in_as_it_is_by_data_and_by_chunks(
    start: Callable[..., RunningRelay], inbound_store: FakeInboundStore
) -> None:
    assert len(CORPUS) > 80
    relay = start(Inbound(inbound_store), max_messages=10_000)
    client: Wire = relay.client()
    client.ask(b"EHLO mx.test\r\n")
    for content in CORPUS.values():
        client.say(_BEGIN + b"DATA\r\n")
        assert client.codes(3) == [250, 250, 354]
        client.say(stuffed(content))
        half = len(content) // 2
        chunks = (
            b"BDAT %d%b\r\n" % (len(part), last) + part
            for part, last in ((content[:half], b""), (content[half:], b" LAST"))
        )
        client.say(_BEGIN + b"".join(chunks))
        assert client.codes(5) == [250] * 5
    messages = inbound_store.messages
    for number, (name, content) in enumerate(CORPUS.items()):
        assert messages[2 * number : 2 * number + 2] == [content, content], name


@pytest.mark.usefixtures("cloud")
def test_every_message_goes_the_whole_way_without_a_fault(
    start: Callable[..., RunningRelay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT_TIMEOUT", "0.001")
    settings.cache_clear()
    store_inbound_domain("inbound.test", relay_webhook_id="17")
    relay = start(Inbound(MailAcceptor()), max_messages=10_000)
    with smtplib.SMTP("127.0.0.1", relay.port, "mx.test") as client:
        for content in CORPUS.values():
            client.sendmail("ann@sender.test", ["help@inbound.test"], content)
    bodies = queued(QUEUE)
    assert len(bodies) == len(CORPUS)
    for at in range(0, len(bodies), 10):
        assert worker.receive_batch(event_of(bodies[at : at + 10])) == {"batchItemFailures": []}
    batches = [queues.read(body).head for body in queued("webhook-batches")]
    assert len({batch["batch_id"] for batch in batches}) == len(CORPUS)


def event_of(bodies: list[str]) -> QueueEvent:
    records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    return {"Records": records}  # type: ignore[typeddict-item]
