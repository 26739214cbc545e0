"""Send with the SparkPost backend of Anymail, and handle its signals, in a Django project.

It prints lines of JSON: first the address for the webhook; once a line comes on its standard input,
the results of sending; then each event that a signal reports, until its input ends. Environment:
POSTFINCH_URL, API_KEY, TEMPLATE, RECIPIENTS (comma-separated), and the authority in
REQUESTS_CA_BUNDLE.
"""

import json
import os
import sys
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

from anymail.message import AnymailMessage
from anymail.signals import tracking
from django.core.wsgi import get_wsgi_application
from django.dispatch import receiver


class Quiet(WSGIRequestHandler):
    """A handler that logs no requests."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def show(**values: object) -> None:
    """Print a line of JSON."""
    print(json.dumps(values), flush=True)


@receiver(tracking)
def handle(sender: object, event: object, esp_name: str, **_: object) -> None:
    """Show an event of a webhook."""
    show(
        esp=esp_name,
        type=event.event_type,
        recipient=event.recipient,
        message_id=event.message_id,
        event_id=event.event_id,
        at=event.timestamp.isoformat(),
        tags=event.tags,
        metadata=event.metadata,
        reject_reason=event.reject_reason,
        response=event.mta_response,
        url=event.click_url,
        user_agent=event.user_agent,
    )


def send() -> None:
    """Send the template, and a message with an attachment to the first recipient."""
    recipients = os.environ["RECIPIENTS"].split(",")
    message = AnymailMessage(to=recipients)
    message.template_id = os.environ["TEMPLATE"]
    message.merge_global_data = {"shop": "North"}
    message.merge_data = {each: {"name": each.partition("@")[0]} for each in recipients}
    message.merge_metadata = {each: {"order": each} for each in recipients}
    message.tags = ["clients"]
    message.track_opens = message.track_clicks = True
    message.send()
    show(status=sorted(message.anymail_status.status), id=message.anymail_status.message_id)
    message = AnymailMessage(
        "Grüße", "Hello", "Ann <ann@example.test>", recipients[:1], cc=["Carl <carl@anymail.test>"]
    )
    message.attach_alternative("<p>Hello</p>", "text/html")
    message.attach("notes.txt", "kept", "text/plain")
    message.send()
    show(status=sorted(message.anymail_status.status), id=message.anymail_status.message_id)


os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
show(url=f"http://127.0.0.1:{server.server_port}/anymail/sparkpost/tracking/")
Thread(target=server.serve_forever, daemon=True).start()
if sys.stdin.readline():
    send()
    sys.stdin.read()
