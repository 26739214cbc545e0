"""The Chalice application: every route, and every queue's consumer, one line each.

Blueprints carry the routes. Queue handlers are declared here and not in blueprints, because a
blueprint's handler is deployed without the application's middleware.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import chalicelib.accounts.routes
import chalicelib.events.routes
import chalicelib.transmissions.routes
from chalicelib.api_keys.authenticate import authenticate
from chalicelib.core.http import App
from chalicelib.core.settings import settings

app = App("postfinch", authenticate=authenticate)
app.register_blueprint(chalicelib.accounts.routes.routes)
app.register_blueprint(chalicelib.events.routes.routes)
app.register_blueprint(chalicelib.transmissions.routes.routes)

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


#: queue → its consumer, for the local runtime and for the tests that look for orphans
QUEUE_HANDLERS: dict[str, Callable[[Event, Any], Event]] = {
    "generation": generation,
    "delivery": delivery,
    "events": events,
}
