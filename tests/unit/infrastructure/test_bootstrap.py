from __future__ import annotations

import pytest

from chalicelib.core.scope import PRIMARY, SYSTEM_ACCOUNT, Scope
from chalicelib.core.settings import settings
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import leases, records
from infrastructure import bootstrap
from infrastructure.bootstrap import ACCOUNT_ID, ensure_sample_template, first_start
from infrastructure.deployment import first_key

pytestmark = pytest.mark.usefixtures("cloud")

FIRST_ACCOUNT = Scope(ACCOUNT_ID, PRIMARY)
SAMPLE_ID = "my-first-email"
EARLIER_TEXT = "Congratulations, {{name or 'you'}}: this message was sent by Postfinch."


def earlier_sample(**changes: str) -> None:
    """Store the sample as the version before stored it: as a template of the first account."""
    content = {
        "from": {"email": f"sandbox@{settings().system_domain}", "name": "Postfinch"},
        "subject": "Your first email",
        "html": f"<p>{EARLIER_TEXT}</p>",
        "text": EARLIER_TEXT,
    }
    assert records.create(
        new_template(FIRST_ACCOUNT, SAMPLE_ID, Edit(published=True)), content | changes
    )


def owner_of_sample() -> int:
    template = records.find(FIRST_ACCOUNT, SAMPLE_ID)
    assert template is not None
    return template.account_id


def test_the_sample_belongs_to_the_service_and_has_no_substitutions() -> None:
    first_start("a-key")
    first_start("a-key")
    assert records.get(ACCOUNT_ID, None, SAMPLE_ID) is None
    sample = records.get_content(Scope(SYSTEM_ACCOUNT, PRIMARY), SAMPLE_ID, draft=False)
    assert "{{" not in str(sample.content)


def test_the_sample_that_the_first_account_had_is_replaced_by_the_service_s() -> None:
    earlier_sample()
    ensure_sample_template()
    assert owner_of_sample() == SYSTEM_ACCOUNT


def test_a_sample_that_the_first_account_changed_stays() -> None:
    earlier_sample(subject="Mine")
    ensure_sample_template()
    assert owner_of_sample() == ACCOUNT_ID


def test_a_sample_in_use_is_replaced_at_the_next_start() -> None:
    earlier_sample()
    template = records.get(ACCOUNT_ID, None, SAMPLE_ID)
    assert template is not None
    leases.acquire(template, "t1", until=4e9)
    ensure_sample_template()
    assert owner_of_sample() == ACCOUNT_ID
    leases.release(ACCOUNT_ID, None, SAMPLE_ID, "t1")
    ensure_sample_template()
    assert owner_of_sample() == SYSTEM_ACCOUNT


def test_a_deployment_that_was_started_before_gets_the_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as version_before:
        version_before.setattr(bootstrap, "ensure_sample_template", earlier_sample)
        first_start("a-key")
    first_key.main()
    assert owner_of_sample() == SYSTEM_ACCOUNT
