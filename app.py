"""Declare the Chalice application: the routes, the queue consumers and the scheduled functions.

Blueprints hold the routes. Queue consumers are declared here, because the handler of a blueprint
is deployed without the application's middleware.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chalice import Blueprint, Rate

import chalicelib
import chalicelib.ab_tests.routes
import chalicelib.accounts.routes
import chalicelib.api_keys.grants
import chalicelib.api_keys.routes
import chalicelib.authentication.routes
import chalicelib.console.routes
import chalicelib.data_privacy.routes
import chalicelib.delivery.routes
import chalicelib.domain_reports.routes
import chalicelib.events.routes
import chalicelib.inbound_domains.lookup
import chalicelib.ingest.routes
import chalicelib.ip_pools.routes
import chalicelib.ip_pools.signing
import chalicelib.metrics.routes
import chalicelib.recipient_lists.routes
import chalicelib.resource_counts.routes
import chalicelib.seeding.routes
import chalicelib.sender_requirements.routes
import chalicelib.sending_domains.lookup
import chalicelib.sending_domains.routes
import chalicelib.snippets.routes
import chalicelib.subaccounts.routes
import chalicelib.subaccounts.search
import chalicelib.suppression.routes
import chalicelib.templates.routes
import chalicelib.templates.store.leases
import chalicelib.tracking.routes
import chalicelib.tracking_domains.routes
import chalicelib.transmissions.progress
import chalicelib.transmissions.references
import chalicelib.transmissions.routes
import chalicelib.transmissions.system_mail
import chalicelib.webhook_dispatch.routes
import chalicelib.webhooks.routes
from chalicelib.authentication.service import authenticate
from chalicelib.core import invocations, leases, logs, references, system_mailer
from chalicelib.core.http import PUBLIC, App, Reply, Request
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.settings import settings

#: The paths of the routes for people
PEOPLE = [
    f"/api/v1/{name}"
    for name in (
        *("users", "invitations", "me", "password-reset"),
        *("sign-in", "sign-out", "sessions", "second-factor", "audit-log"),
    )
]


#: The paths of the routes for the validation of recipients
VALIDATION = ["/api/v1/recipient-validation"]


def _validation() -> Iterable[Blueprint]:
    """Import the routes for the validation of recipients, which are rarely asked for."""
    import chalicelib.recipient_validation.routes

    return (chalicelib.recipient_validation.routes.routes,)


def _people() -> Iterable[Blueprint]:
    """Import the routes for people, which a program's requests do not need."""
    import chalicelib.audit_log.routes
    import chalicelib.single_sign_on.routes
    import chalicelib.users.routes
    import chalicelib.users.second_factor_routes
    import chalicelib.users.session_routes
    import chalicelib.users.sign_in_routes

    return (
        chalicelib.audit_log.routes.routes,
        chalicelib.single_sign_on.routes.routes,
        chalicelib.users.routes.routes,
        chalicelib.users.second_factor_routes.routes,
        chalicelib.users.session_routes.routes,
        chalicelib.users.sign_in_routes.routes,
    )


def _relay_webhooks() -> Iterable[Blueprint]:
    """Import the routes of relay webhooks, and with them the parser of received messages."""
    import chalicelib.relay_webhooks.routes
    import chalicelib.webhook_dispatch.relay_routes

    return (
        chalicelib.relay_webhooks.routes.routes,
        chalicelib.webhook_dispatch.relay_routes.routes,
    )


def _inbound_domains() -> Iterable[Blueprint]:
    """Import the routes of inbound domains, which few requests ask for."""
    import chalicelib.inbound_domains.routes

    return (chalicelib.inbound_domains.routes.routes,)


#: The paths of received messages
RECEIVED = [f"/api/v1/{name}" for name in ("inbound-messages", "inbound-attachments")]


def _received() -> Iterable[Blueprint]:
    """Import the routes of received messages."""
    import chalicelib.received_mail.routes

    return (chalicelib.received_mail.routes.routes,)


logs.configure()
app = App("postfinch", authenticate=authenticate)
app.register_middleware(invocations.of_queue, "sqs")
app.register_middleware(invocations.of_schedule, "scheduled")
app.register_blueprint(chalicelib.ab_tests.routes.routes)
app.register_blueprint(chalicelib.accounts.routes.routes)
app.register_blueprint(chalicelib.api_keys.routes.routes)
app.register_blueprint(chalicelib.authentication.routes.routes)
app.register_blueprint(chalicelib.console.routes.routes)
app.register_blueprint(chalicelib.data_privacy.routes.routes)
app.register_blueprint(chalicelib.delivery.routes.routes)
app.register_blueprint(chalicelib.domain_reports.routes.routes)
app.register_blueprint(chalicelib.events.routes.routes)
app.register_blueprint(chalicelib.ingest.routes.routes)
app.register_blueprint(chalicelib.ip_pools.routes.routes)
app.register_blueprint(chalicelib.metrics.routes.routes)
app.register_blueprint(chalicelib.recipient_lists.routes.routes)
app.register_blueprint(chalicelib.resource_counts.routes.routes)
app.register_blueprint(chalicelib.seeding.routes.routes)
app.register_blueprint(chalicelib.sender_requirements.routes.routes)
app.register_blueprint(chalicelib.sending_domains.routes.routes)
app.register_blueprint(chalicelib.snippets.routes.routes)
app.register_blueprint(chalicelib.subaccounts.routes.routes)
app.register_blueprint(chalicelib.suppression.routes.routes)
app.register_blueprint(chalicelib.templates.routes.routes)
app.register_blueprint(chalicelib.tracking.routes.routes)
app.register_blueprint(chalicelib.tracking_domains.routes.routes)
app.register_blueprint(chalicelib.transmissions.routes.routes)
app.register_blueprint(chalicelib.webhook_dispatch.routes.routes)
app.register_blueprint(chalicelib.webhooks.routes.routes)
app.register_late(PEOPLE, _people)
app.register_late(["/api/v1/relay-webhooks"], _relay_webhooks)
app.register_late(["/api/v1/inbound-domains"], _inbound_domains)
app.register_late(VALIDATION, _validation)
app.register_late(RECEIVED, _received)

chalicelib.api_keys.grants.set_routes(app.declared_routes)
system_mailer.set_mailer(chalicelib.transmissions.system_mail.send)
chalicelib.templates.store.leases.set_use(chalicelib.transmissions.progress.uses_template)
leases.set_activity(chalicelib.transmissions.progress.is_active)
references.register(
    references.IP_POOL,
    chalicelib.subaccounts.search.sending_by_pool,
    chalicelib.transmissions.references.leaving_by_pool,
)
references.register(
    references.SENDING_DOMAIN,
    chalicelib.ip_pools.signing.pools_signed_by,
    chalicelib.transmissions.references.with_sending_domain,
)
references.register(references.BOUNCE_DOMAIN, chalicelib.inbound_domains.lookup.of_name)
references.register(references.DKIM_KEY, chalicelib.transmissions.references.signed_with)
references.register(
    references.SHARED_DOMAIN, chalicelib.transmissions.references.of_subaccounts_with_domain
)
references.register(
    references.SHARED_TEMPLATE, chalicelib.transmissions.references.of_subaccounts_with_template
)
references.register(references.AB_TEST, chalicelib.transmissions.references.with_ab_test)
references.register(
    references.TRACKING_DOMAIN,
    chalicelib.sending_domains.lookup.linked_to,
    chalicelib.transmissions.references.with_tracking_domain,
)


@app.route("/api/v1", methods=["GET"], grant=PUBLIC)
def describe_service(request: Request) -> Reply:
    """Return the name and the version of this service."""
    return Reply(200, {"results": {"name": "Postfinch", "version": chalicelib.__version__}})


@app.route("/openapi.json", methods=["GET"], grant=PUBLIC)
def describe_api(request: Request) -> Reply:
    """Return this description of the API in OpenAPI."""
    # Imported here because it is slow, and no other request needs it
    from chalicelib.openapi.document import document

    return Reply(200, document(app))


@app.route("/docs/postman.json", methods=["GET"], grant=PUBLIC)
def describe_collection(request: Request) -> Reply:
    """Return the API as a Postman collection."""
    # Imported here because it is slow, and no other request needs it
    from chalicelib.openapi.document import document
    from chalicelib.openapi.postman import collection

    base_url = settings().public_url.rstrip("/")
    return Reply(200, collection(document(app), base_url))


@app.on_sqs_message(queue=settings().queue("generation"), batch_size=1, name="generation")
def generation(event: Any) -> BatchResponse:
    """Generate the chunks of bulk mail, and send seed messages."""
    from chalicelib.generation_queue import generate_batch

    return generate_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("small-sends"), batch_size=10, name="small_sends")
def small_sends(event: Any) -> BatchResponse:
    """Start transmissions, and generate and deliver those of one chunk."""
    from chalicelib.generation_queue import send_small_batch

    return send_small_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("delivery"), batch_size=1, name="delivery")
def delivery(event: Any) -> BatchResponse:
    """Try to deliver the messages of a delivery batch."""
    from chalicelib.delivery.worker import deliver_batch

    return deliver_batch(event.to_dict())


@app.on_sqs_message(
    queue=settings().queue("events"),
    batch_size=100,
    maximum_batching_window_in_seconds=int(settings().events_window),
    name="events",
)
def events(event: Any) -> BatchResponse:
    """Record events."""
    from chalicelib.recording.worker import record_batch

    return record_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("ingest"), batch_size=1, name="ingest")
def ingest(event: Any) -> BatchResponse:
    """Check and record ingested batches of events."""
    from chalicelib.ingest.worker import ingest_batch

    return ingest_batch(event.to_dict())


@app.on_sqs_message(
    queue=settings().queue("webhook-events"),
    batch_size=100,
    maximum_batching_window_in_seconds=int(settings().webhook_window),
    name="webhook_events",
)
def webhook_events(event: Any) -> BatchResponse:
    """Merge the events that webhooks selected into batches."""
    from chalicelib.webhook_dispatch.merge import merge_events

    return merge_events(event.to_dict())


# Slow targets keep these functions waiting. The limit leaves concurrency to those that send mail.
@app.on_sqs_message(
    queue=settings().queue("webhook-batches"),
    batch_size=10,
    maximum_concurrency=100,
    name="webhook_batches",
)
def webhook_batches(event: Any) -> BatchResponse:
    """Post batches of events to webhooks, and received messages to relay webhooks."""
    from chalicelib.webhook_dispatch.worker import post_batches

    return post_batches(event.to_dict())


@app.on_sqs_message(queue=settings().queue("event-exports"), batch_size=10, name="event_exports")
def event_exports(event: Any) -> BatchResponse:
    """Send events on to the targets that the stage names."""
    from chalicelib.event_export.worker import export_batch

    return export_batch(event.to_dict())


@app.on_sqs_message(
    queue=settings().queue("ses-notifications"),
    batch_size=100,
    maximum_batching_window_in_seconds=int(settings().events_window),
    name="ses_notifications",
)
def ses_notifications(event: Any) -> BatchResponse:
    """Make events of what Amazon SES tells about the messages that it took."""
    from chalicelib.inbound.ses_notifications.worker import take_batch

    return take_batch(event.to_dict())


@app.on_sqs_message(queue=settings().queue("inbound-mail"), batch_size=10, name="inbound_mail")
def inbound_mail(event: Any) -> BatchResponse:
    """Read received mail, and pass it on as the routes of its inbound domain say."""
    from chalicelib.inbound.worker import receive_batch

    return receive_batch(event.to_dict())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="start_transmissions")
def start_transmissions(event: Any) -> None:
    """Start the scheduled transmissions that are due."""
    from chalicelib.transmissions.scheduling import start_due

    start_due()


@app.schedule(Rate(1, unit=Rate.MINUTES), name="advance_warmup")
def advance_warmup(event: Any) -> None:
    """Move IPs in warm-up to their next stage, once a day."""
    from chalicelib.core import clock
    from chalicelib.fleet.warmup import advance_due

    advance_due(clock.now())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="reverify_domains")
def reverify_domains(event: Any) -> None:
    """Check the DNS records of verified and of inbound domains, and identities in SES."""
    from chalicelib.core import clock
    from chalicelib.inbound_domains import recheck as inbound_domains
    from chalicelib.ip_pools.signing import pools_signed_by
    from chalicelib.sending_domains.recheck import reverify_due
    from chalicelib.sending_domains.ses_identities.service import delete_due

    # Scheduled transmissions wait three days at most, so none was accepted with a domain whose two
    # weeks are over.
    reverify_due(clock.now(), [pools_signed_by])
    inbound_domains.reverify_due(clock.now_ms())
    delete_due(clock.now())


@app.schedule(Rate(1, unit=Rate.MINUTES), name="decide_ab_tests")
def decide_ab_tests(event: Any) -> None:
    """Complete the A/B tests whose end time has passed."""
    from chalicelib.ab_tests.decisions import decide_due
    from chalicelib.core import clock
    from chalicelib.events import stream

    decide_due(clock.now_ms(), stream.emit)


@app.schedule(Rate(1, unit=Rate.MINUTES), name="erase_recipients")
def erase_recipients(event: Any) -> None:
    """Continue the erasure of recipients who asked for it."""
    from chalicelib.data_privacy.service import carry_out_due

    carry_out_due()


@app.schedule(Rate(1, unit=Rate.MINUTES), name="validate_lists")
def validate_lists(event: Any) -> None:
    """Continue the validation of recipient lists."""
    from chalicelib.recipient_validation.list_jobs import carry_out_due

    carry_out_due()


@app.schedule(Rate(1, unit=Rate.MINUTES), name="send_seeds")
def send_seeds(event: Any) -> None:
    """Send the seed messages of campaigns that are due."""
    from chalicelib.core import clock
    from chalicelib.seeding.seed_batches import send_due

    send_due(clock.now_ms())


@app.schedule(Rate(1, unit=Rate.HOURS), name="send_tls_reports")
def send_tls_reports(event: Any) -> None:
    """Send the TLS reports of the day before to the domains that want them."""
    from chalicelib.core import clock
    from chalicelib.delivery.tls_reports.sending import send_due
    from chalicelib.transmissions.system_mail import send_message

    send_due(clock.now_ms(), send_message)


@app.schedule(Rate(1, unit=Rate.MINUTES), name="roll_up_metrics")
def roll_up_metrics(event: Any) -> None:
    """Add pending deltas to the counters of metrics, of seeded campaigns and of the usage."""
    from chalicelib.recording.rollup import roll_up

    roll_up()


@app.schedule(Rate(1, unit=Rate.HOURS), name="clean_up")
def clean_up(event: Any) -> None:
    """Remove leftovers of crashes that no table or bucket lets expire."""
    from chalicelib.core import clock
    from chalicelib.delivery.store.journal_files import remove_stale

    remove_stale(clock.now())


#: queue → its consumer, for the local runtime and for the test that every queue is consumed
QUEUE_HANDLERS: dict[str, Callable[[QueueEvent, Any], BatchResponse]] = {
    "generation": generation,
    "small-sends": small_sends,
    "delivery": delivery,
    "events": events,
    "ingest": ingest,
    "webhook-events": webhook_events,
    "webhook-batches": webhook_batches,
    "event-exports": event_exports,
    "ses-notifications": ses_notifications,
    "inbound-mail": inbound_mail,
}

#: name → scheduled function
SCHEDULES: dict[str, Callable[[Json, Any], Any]] = {
    "start_transmissions": start_transmissions,
    "advance_warmup": advance_warmup,
    "decide_ab_tests": decide_ab_tests,
    "erase_recipients": erase_recipients,
    "validate_lists": validate_lists,
    "reverify_domains": reverify_domains,
    "send_seeds": send_seeds,
    "send_tls_reports": send_tls_reports,
    "clean_up": clean_up,
    "roll_up_metrics": roll_up_metrics,
}
