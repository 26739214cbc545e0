"""A sandbox send delivers the service's sample as it is, and nothing else in its name."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.accounts.store import usage
from chalicelib.core import clock, queues
from chalicelib.core.request import Caller
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.generation.chunk import generate_chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import leases, records
from chalicelib.transmissions.accept import accept
from chalicelib.transmissions.start import start
from chalicelib.transmissions.store import transmissions
from infrastructure.bootstrap import first_start
from tests.fake_cloud import queued_work
from tests.unit.people import make_account, make_subaccount
from tests.unit.refusals import refusal_code
from tests.unit.transmissions.examples import body

SAMPLE = {"template_id": "my-first-email"}
OWN_CONTENT = {"from": "bank@postfinch.test", "subject": "Your account", "text": "Pay here"}
SUBACCOUNT = 1
GRANTS = frozenset({"transmissions/modify"})


@pytest.fixture(autouse=True)
def _service(cloud: None) -> None:
    first_start("a-key")
    make_account(2)
    assert make_subaccount(1).id == SUBACCOUNT


def caller(account_id: int = 1, part: int = PRIMARY) -> Caller:
    return Caller(Scope(account_id, part), "key", GRANTS)


def sandbox(**fields: Any) -> dict[str, Any]:
    return body(content=SAMPLE, options={"sandbox": True}) | fields


def refused(data: Any, sender: Caller) -> tuple[int, str | None]:
    code = refusal_code(accept, sender, data)
    assert queued_work() == []
    assert usage.get(sender.account_id)[1] == 0
    return code


def generated_message() -> bytes:
    (queue_message,) = queued_work()
    chunk = generate_chunk(read_chunk(queues.read(queue_message)), clock.now_ms())
    (message,) = chunk.delivery_batch.messages
    return message.data


def store_own(part: int = PRIMARY, **edit: Any) -> None:
    scope = Scope(1, part)
    new = new_template(scope, SAMPLE["template_id"], Edit(published=True, **edit))
    assert records.create(new, OWN_CONTENT)


@pytest.mark.spec("4.1-r10")
@pytest.mark.spec("8-t1")
@pytest.mark.parametrize("sender", [caller(), caller(2), caller(part=SUBACCOUNT)])
def test_every_account_and_subaccount_can_send_the_sample(sender: Caller) -> None:
    accept(sender, sandbox(substitution_data={"name": "x"}))
    assert b"Congratulations: this message was sent by Postfinch." in generated_message()
    assert usage.get(sender.account_id)[1] == 1


@pytest.mark.spec("4.1-r10")
@pytest.mark.parametrize(
    "visible",
    [
        {"name": "Your prize: prizes.test"},
        {"header_to": "Your prize: prizes.test <x@x.test>"},
    ],
)
def test_the_to_header_of_a_sandbox_send_has_no_text_of_the_caller(visible: dict[str, str]) -> None:
    address = {"email": "ann@inbox.test"} | visible
    accept(caller(), sandbox(recipients=[{"address": address}]))
    message = generated_message()
    assert b"\r\nTo: ann@inbox.test\r\n" in message
    assert b"prize" not in message


@pytest.mark.spec("4.1-r10")
@pytest.mark.parametrize("draft", [True, False])
def test_a_template_of_the_account_under_the_sample_s_id_is_refused(draft: bool) -> None:
    store_own()
    content = SAMPLE | {"use_draft_template": draft}
    assert refused(sandbox(content=content), caller()) == (422, "3051")
    accept(caller(2), sandbox())


def test_a_template_of_a_subaccount_or_shared_with_it_is_refused() -> None:
    store_own(shared=True)
    assert refused(sandbox(), caller(part=SUBACCOUNT)) == (422, "3051")
    leases.delete(Scope(1, PRIMARY), SAMPLE["template_id"])
    store_own(part=SUBACCOUNT)
    assert refused(sandbox(), caller(part=SUBACCOUNT)) == (422, "3051")
    accept(caller(), sandbox())


@pytest.mark.parametrize(
    "override", [{"from": {"email": "a@b.test", "name": "Bank"}}, {"reply_to": "me@b.test"}]
)
def test_an_override_is_refused(override: dict[str, Any]) -> None:
    assert refused(sandbox(override=override), caller()) == (422, "1301")


@pytest.mark.spec("4.1-r7")
def test_a_dkim_key_that_the_service_does_not_have_is_refused() -> None:
    options = {"sandbox": True, "dkim_key": "mine"}
    assert refused(sandbox(options=options), caller()) == (400, "1100")


def test_a_template_stored_before_a_scheduled_sandbox_send_starts_is_not_sent() -> None:
    now = clock.now()
    options = {"sandbox": True, "start_time": clock.iso_offset(now + 3600)}
    transmission_id = accept(caller(), sandbox(options=options)).id
    store_own()
    with clock.use(lambda: now + 3700):
        start(transmission_id)
    record = transmissions.get(transmission_id)
    assert record is not None
    assert record.transmission.refusal["type"] == "generation_failure"
    assert "delete it to send the sample" in record.transmission.refusal["reason"]


def test_the_sample_is_sent_without_writing_to_its_record() -> None:
    before = records.find(Scope(1, PRIMARY), SAMPLE["template_id"])
    options = {"sandbox": True, "start_time": clock.iso_offset(clock.now() + 3600)}
    accept(caller(), sandbox(options=options))
    accept(caller(2), sandbox())
    assert records.find(Scope(2, PRIMARY), SAMPLE["template_id"]) == before
