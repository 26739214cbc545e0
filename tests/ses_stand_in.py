"""Stand in for Amazon SES: its v2 API over HTTP, as far as the service uses it, and notifications.

It takes messages from verified identities, and tells what became of each as the mailbox simulator
of SES does, by the recipient's local part: ``bounce``, ``late-bounce`` (after the delivery),
``complaint``, ``delay`` (and then delivered); anything else is delivered. Records have the shape
that the Amazon SES Developer Guide gives them.
"""

from __future__ import annotations

import base64
import email
import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_OWN_HOST = "a48-30.smtp-out.amazonses.com"


@dataclass
class SesIdentity:
    """An identity: what it was made with, and what SES has found out."""

    request: dict[str, Any]
    dkim: str = "PENDING"
    forwards_bounces: bool = True
    history: list[str] = field(default_factory=list)

    @property
    def selector(self) -> str:
        """The selector of its DKIM key."""
        return str(self.request.get("DkimSigningAttributes", {}).get("DomainSigningSelector", ""))

    def view(self) -> dict[str, Any]:
        """Return it as GetEmailIdentity does."""
        return {
            "IdentityType": "DOMAIN",
            "FeedbackForwardingStatus": self.forwards_bounces,
            "VerifiedForSendingStatus": self.dkim == "SUCCESS",
            "DkimAttributes": {
                "SigningEnabled": True,
                "Status": self.dkim,
                "Tokens": [self.selector],
                "SigningAttributesOrigin": "EXTERNAL",
            },
            "Tags": self.request.get("Tags", []),
        }


class SesStandIn:
    """The state of the stand-in. ``publish`` gets the notifications; ``is_away`` fails requests."""

    def __init__(self) -> None:
        self.identities: dict[str, SesIdentity] = {}
        self.requests: list[tuple[str, str]] = []
        self.messages: list[dict[str, Any]] = []
        self.publish: Callable[[str], None] = lambda _: None
        self.is_away = False
        self.url = ""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the answer to a request."""
        self.requests.append((method, path))
        if self.is_away:
            return _refusal(503, "ServiceUnavailableException", "try again")
        if path == "/v2/email/outbound-emails":
            return self._send(body)
        if path == "/v2/email/identities":
            return self._create(body)
        parts = path.strip("/").split("/")
        name = urllib.parse.unquote(parts[3])
        identity = self.identities.get(name)
        if identity is None:
            return _refusal(404, "NotFoundException", f"Email identity {name} does not exist.")
        return self._of_identity(method, name, identity, parts[4:], body)

    def _create(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = body["EmailIdentity"]
        if name in self.identities:
            return _refusal(400, "AlreadyExistsException", f"{name} exists")
        identity = self.identities[name] = SesIdentity(body)
        identity.history.append(identity.selector)
        return 200, {"IdentityType": "DOMAIN", "VerifiedForSendingStatus": False}

    def _of_identity(
        self,
        method: str,
        name: str,
        identity: SesIdentity,
        rest: list[str],
        body: dict[str, Any],
    ) -> tuple[int, dict[str, Any]]:
        if method == "DELETE":
            del self.identities[name]
        elif rest == ["dkim", "signing"]:
            assert body["SigningAttributesOrigin"] == "EXTERNAL"
            identity.request["DkimSigningAttributes"] = body["SigningAttributes"]
            identity.history.append(identity.selector)
            identity.dkim = "PENDING"
        elif rest == ["feedback"]:
            identity.forwards_bounces = body.get("EmailForwardingEnabled", False)
        else:
            return 200, identity.view()
        return 200, {}

    def _send(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        message = email.message_from_bytes(base64.b64decode(body["Content"]["Raw"]["Data"]))
        domain = str(message["From"]).rpartition("@")[2].strip(">")
        identity = self.identities.get(domain)
        if identity is None or identity.dkim != "SUCCESS":
            return _refusal(400, "MessageRejected", f"Email address is not verified. {domain}")
        self.messages.append(body)
        name = f"0100{len(self.messages):012x}-stand-in-000000"
        (recipient,) = body["Destination"]["ToAddresses"]
        mail = {
            "timestamp": _now(),
            "messageId": name,
            "destination": [recipient],
            "headers": [{"name": key, "value": str(value)} for key, value in message.items()],
            "tags": {tag["Name"]: [tag["Value"]] for tag in body.get("EmailTags", [])},
        }
        if body.get("ConfigurationSetName"):
            for kind, key, details in _ends(recipient):
                self.publish(json.dumps({"eventType": kind, "mail": mail, key: details}))
        return 200, {"MessageId": name}


def _ends(recipient: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what becomes of a message: type of the record, name and content of its details."""
    kind = recipient.partition("@")[0].partition("+")[0]
    bounced = {
        "bounceType": "Permanent",
        "bounceSubType": "General",
        "bouncedRecipients": [
            {
                "emailAddress": recipient,
                "action": "failed",
                "status": "5.1.1",
                "diagnosticCode": "smtp; 550 5.1.1 user unknown",
            }
        ],
        "timestamp": _now(),
    }
    if kind == "bounce":
        own = {"reportingMTA": f"dns; {_OWN_HOST}", "remoteMtaIp": "192.0.2.25"}
        yield "Bounce", "bounce", bounced | own
        return
    if kind == "delay":
        yield (
            "DeliveryDelay",
            "deliveryDelay",
            {
                "timestamp": _now(),
                "delayType": "MailboxFull",
                "expirationTime": _now(),
                "delayedRecipients": [
                    {
                        "emailAddress": recipient,
                        "status": "4.2.2",
                        "diagnosticCode": "smtp; 452 4.2.2 over quota",
                    }
                ],
            },
        )
    delivered = {
        "timestamp": _now(),
        "processingTimeMillis": 546,
        "recipients": [recipient],
        "smtpResponse": "250 ok",
        "remoteMtaIp": "192.0.2.25",
        "reportingMTA": _OWN_HOST,
    }
    yield "Delivery", "delivery", delivered
    if kind == "late-bounce":
        yield "Bounce", "bounce", bounced | {"reportingMTA": "dns; mx.example.net"}
    if kind == "complaint":
        complaint = {"complaintFeedbackType": "abuse", "timestamp": _now()}
        yield "Complaint", "complaint", complaint


def _refusal(status: int, name: str, text: str) -> tuple[int, dict[str, Any]]:
    return status, {"__type": name, "message": text}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def ses_stand_in() -> Iterator[SesStandIn]:
    """Serve a stand-in on a free port within the block."""
    state = SesStandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = state.answer(self.command, self.path, json.loads(data or b"{}"))
            content = json.dumps(body).encode()
            self.send_response(status)
            if status >= 400:
                self.send_header("x-amzn-ErrorType", body["__type"])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _handle

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
