"""Delivery batches wait in the queue of who can send them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from chalicelib.core import aws, queues
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch, delivery_queues
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.route import first_container
from chalicelib.delivery.worker import deliver_unit
from infrastructure.admin import container_queues
from outbound import delivery_process
from tests.fake_cloud import queued
from tests.unit.delivery.examples import INJECTED, UNIT, batch_of
from tests.unit.delivery.mail_host import MailHost
from tests.unit.fleet.examples import add, an_ip, make_pool
from tests.unit.moving_clock import Clock, moving_clock

Set = Callable[..., None]

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture(autouse=True)
def time() -> Iterator[Clock]:
    with moving_clock(INJECTED / 1000, step=1e-5) as moving:
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Set:
    def configure(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    return configure


def batch_by(pool: str, count: int = 3, *, small: bool = False) -> DeliveryBatch:
    batch = batch_of(count, 1, UNIT)
    return replace(batch, event=batch.event | {"ip_pool": pool}, is_small=small)


def batches_in(queue: str) -> list[DeliveryBatch]:
    return [delivery_batch.from_received(queues.read(body)) for body in queued(queue)]


@pytest.mark.parametrize(
    ("delivery", "container", "kinds", "queue"),
    [
        ("function", "", {}, "delivery"),
        ("function", "", {"small": True}, "delivery"),
        ("function", "", {"is_held": True}, "delivery"),
        ("container", "", {}, "delivery"),
        ("container", "", {"small": True}, "small-deliveries"),
        ("container", "", {"is_held": True}, "held-deliveries"),
        ("container", "", {"small": True, "is_held": True}, "small-deliveries"),
        ("function", "east", {}, "container-east"),
        ("container", "east", {"small": True}, "container-east-small"),
        ("function", "east", {"is_held": True}, "container-east-held"),
    ],
)
def test_the_queue_is_that_of_who_can_send_the_mail(
    configure: Set, delivery: str, container: str, kinds: dict[str, bool], queue: str
) -> None:
    configure(DELIVERY=delivery)
    container_queues.create("east")
    assert delivery_queues.queue_of(container, **kinds) == queue


def test_held_back_mail_waits_among_bulk_mail_at_a_container_of_an_earlier_version(
    configure: Set,
) -> None:
    configure(DELIVERY="container", DELIVERY_CONTAINER="east")
    assert delivery_queues.queue_of("east", is_held=True) == "container-east"
    assert delivery_process._queues("east") == ["container-east", "container-east-small"]


def test_a_small_send_waits_apart_from_bulk_mail_where_containers_deliver(configure: Set) -> None:
    configure(DELIVERY="container")
    delivery_batch.queue(batch_by("default", small=True))
    delivery_batch.queue(batch_by("default"))
    assert [batch.is_small for batch in batches_in("small-deliveries")] == [True]
    assert [batch.is_small for batch in batches_in("delivery")] == [False]


def test_a_batch_is_queued_for_the_container_that_has_the_addresses_of_its_pool() -> None:
    make_pool("EAST")
    add(an_ip(1, pool="EAST", container="east"))
    assert first_container(batch_by("east")) == "east"
    assert first_container(batch_by("default")) == ""


def test_messages_of_an_address_elsewhere_go_on_there_with_their_route(
    configure: Set, host: MailHost
) -> None:
    make_pool("EAST")
    add(an_ip(1, pool="EAST", container="east"))
    container_queues.create("east")
    delivery_batch.queue(batch_by("east"))
    (body,) = queued("delivery")
    deliver_unit(queues.read(body))
    assert host.recipients == []
    (text,) = queued("container-east")
    message = queues.read(text)
    batch = delivery_batch.from_received(message)
    assert batch.unit == UNIT.continued
    assert {each.sending_ip for each in batch.messages} == {"192.0.2.1"}
    configure(DELIVERY_CONTAINER="east")
    deliver_unit(message)
    assert len(host.recipients) == 3


def test_a_message_whose_address_was_removed_leaves_by_another_one(
    configure: Set, host: MailHost
) -> None:
    batch = batch_by("default")
    messages = [replace(message, sending_ip="192.0.2.9") for message in batch.messages]
    delivery_batch.queue(replace(batch, messages=messages))
    (body,) = queued("delivery")
    deliver_unit(queues.read(body))
    assert len(host.recipients) == 3


def test_the_queues_of_a_container_are_like_those_of_the_template() -> None:
    container_queues.create("east")
    container_queues.create("east")
    client = aws.sqs()
    examples = {"": "delivery", "-small": "small-deliveries", "-held": "held-deliveries"}
    for queue, example in examples.items():
        attributes, expected = (
            client.get_queue_attributes(
                QueueUrl=client.get_queue_url(QueueName=settings().queue(name))["QueueUrl"],
                AttributeNames=["VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy"],
            )["Attributes"]
            for name in (f"container-east{queue}", example)
        )
        assert attributes == expected
