"""Lease the templates of a scheduled or running test, so that nobody deletes them.

The actions belong into the transaction that schedules, changes or ends the test.
"""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.ab_tests.model import SCHEDULED, AbTest
from chalicelib.core.dynamo import Write, WriteConflict
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.templates.model import Template
from chalicelib.templates.store import leases, records


def changes(old: AbTest | None, new: AbTest) -> list[Write]:
    """Return the actions that lease the templates of ``new``, and release the others of ``old``.

    Raises ``WriteConflict`` if a template was deleted since it was checked.
    """
    templates = list(_templates(new)) if new.state == SCHEDULED else []
    acquisitions = [write for each in templates for write in leases.acquisition(each, new.id)]
    if old is None or old.state != SCHEDULED:
        return acquisitions
    names = {(template.subaccount_id, template.id) for template in templates}
    # A template of the test may have been the subaccount's own or a shared one
    releases = [
        leases.releasing(old.account_id, owner, share.template_id, old.id)
        for share in old.shares
        for owner in {None, old.subaccount_id}
        if (owner, share.template_id) not in names
    ]
    return acquisitions + releases


def _templates(test: AbTest) -> Iterator[Template]:
    """Yield the templates of a test, without the service's sample, which nobody can delete."""
    scope = Scope(test.account_id, test.subaccount_id or PRIMARY)
    for share in test.shares:
        template = records.find(scope, share.template_id)
        if template is None:
            raise WriteConflict
        if not template.is_sample:
            yield template
