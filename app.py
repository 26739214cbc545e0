"""The Chalice application: every route, and every queue's consumer, one line each.

Blueprints carry the routes. Queue handlers are declared here and not in blueprints, because a
blueprint's handler is deployed without the application's middleware.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalice import Rate

import chalicelib.ab_tests.routes
import chalicelib.accounts.routes
import chalicelib.api_keys.routes
import chalicelib.events.routes
import chalicelib.ip_pools.routes
import chalicelib.recipient_lists.routes
import chalicelib.sending_domains.mailboxes
import chalicelib.sending_domains.routes
import chalicelib.snippets.routes
import chalicelib.subaccounts.routes
import chalicelib.suppression.routes
import chalicelib.templates.routes
import chalicelib.tracking.routes
import chalicelib.tracking_domains.routes
import chalicelib.transmissions.routes
import chalicelib.transmissions.system_mail
from chalicelib.api_keys.authenticate import authenticate
from chalicelib.core.http import App
from chalicelib.core.settings import settings

app = App("postfinch", authenticate=authenticate)
app.register_blueprint(chalicelib.ab_tests.routes.routes)
app.register_blueprint(chalicelib.accounts.routes.routes)
app.register_blueprint(chalicelib.api_keys.routes.routes)
app.register_blueprint(chalicelib.events.routes.routes)
app.register_blueprint(chalicelib.ip_pools.routes.routes)
app.register_blueprint(chalicelib.recipient_lists.routes.routes)
app.register_blueprint(chalicelib.sending_domains.routes.routes)
app.register_blueprint(chalicelib.snippets.routes.routes)
app.register_blueprint(chalicelib.subaccounts.routes.routes)
app.register_blueprint(chalicelib.suppression.routes.routes)
app.register_blueprint(chalicelib.templates.routes.routes)
app.register_blueprint(chalicelib.tracking.routes.routes)
app.register_blueprint(chalicelib.tracking_domains.routes.routes)
app.register_blueprint(chalicelib.transmissions.routes.routes)

chalicelib.sending_domains.mailboxes.mail_with(chalicelib.transmissions.system_mail.send)

Event = dict[str, Any]


@app.on_sqs_message(queue=settings().queue("generation"), batch_size=1, name="generation")
def generation(event: Any) -> Event:
    """Generate the messages of chunks of recipients."""
    from chalicelib.generation.worker import generate_batch

    return generate_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("delivery"), batch_size=1, name="delivery")
def delivery(event: Any) -> Event:
    """Attempt to deliver parcels of finished messages."""
    from chalicelib.delivery.worker import deliver_batch

    return deliver_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("events"), batch_size=10, name="events")
def events(event: Any) -> Event:
    """Record events."""
    from chalicelib.recording.worker import record_batch

    return record_batch(event.to_dict())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="start_transmissions")
def start_transmissions(event: Any) -> None:
    """Start the transmissions whose time has come."""
    from chalicelib.transmissions.scheduling import start_due

    start_due()


@app.schedule(Rate(1, unit=Rate.MINUTES), name="advance_warmup")
def advance_warmup(event: Any) -> None:
    """Move warming IPs on to their next stage, once a day."""
    from chalicelib.core import clock
    from chalicelib.ip_pools.warmup import advance_due

    advance_due(clock.now())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="reverify_domains")
def reverify_domains(event: Any) -> None:
    """Look again whether domains still have the records that verified them."""
    from chalicelib.core import clock
    from chalicelib.sending_domains.recheck import reverify_due

    reverify_due(clock.now())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="decide_ab_tests")
def decide_ab_tests(event: Any) -> None:
    """Complete the A/B tests whose time is over."""
    from chalicelib.ab_tests.decisions import decide_due
    from chalicelib.core import clock
    from chalicelib.events import stream

    decide_due(clock.now_ms(), stream.emit)


@app.schedule(Rate(1, unit=Rate.MINUTES), name="erase_recipients")
def erase_recipients(event: Any) -> None:
    """Carry out what recipients' requests about their data have left to do."""
    from chalicelib.suppression.privacy import carry_out_due

    carry_out_due()


#: queue → its consumer, for the local runtime and for the tests that look for orphans
QUEUE_HANDLERS: dict[str, Callable[[Event, Any], Event]] = {
    "generation": generation,
    "delivery": delivery,
    "events": events,
}

#: concern → its scheduled function
SCHEDULES: dict[str, Callable[[Event, Any], Any]] = {
    "start_transmissions": start_transmissions,
    "advance_warmup": advance_warmup,
    "decide_ab_tests": decide_ab_tests,
    "erase_recipients": erase_recipients,
    "reverify_domains": reverify_domains,
}
