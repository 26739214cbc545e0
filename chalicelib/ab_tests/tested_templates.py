"""Whether the templates of a test can be sent and measured."""

from __future__ import annotations

from chalicelib.ab_tests.model import CLICKED, AbTest
from chalicelib.ab_tests.request import refused
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.templates.store import records as templates


def check_templates(test: AbTest) -> None:
    """Raise 400 unless every template is published and does not turn off what the test measures."""
    tracking = "click_tracking" if test.metric == CLICKED else "open_tracking"
    ids = [share.template_id for share in test.shares]
    faults = [fault for each in ids if (fault := _fault(test, each, tracking))]
    if faults:
        raise refused(*faults)


def check_default_template(test: AbTest) -> None:
    """Raise 400 unless the default template, which even a draft sends, is published."""
    if fault := _fault(test, test.default_template.template_id, None):
        raise refused(fault)


def _fault(test: AbTest, template_id: str, tracking: str | None) -> str | None:
    template = templates.find(Scope(test.account_id, test.subaccount_id or PRIMARY), template_id)
    if template is None:
        return f"template '{template_id[:64]}' does not exist"
    if template.published is None:
        return f"template '{template_id}' has no published version"
    if tracking and template.published.options.get(tracking) is False:
        return f"template '{template_id}' has {tracking} turned off"
    return None
