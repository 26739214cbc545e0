"""Send by a stand-in for Amazon SES, and see its notifications become events."""

from __future__ import annotations

from typing import Any

from botocore.session import get_session

from infrastructure.local.supervisor.cloud_access import ACCESS_KEY_ID, REGION, read_secret
from infrastructure.local.supervisor.ports import InternalPorts
from tests.journey.service import Service, eventually
from tests.ses_stand_in import ses_stand_in


class Queue:
    """The queue of notifications, and what was put on it."""

    def __init__(self, service: Service) -> None:
        self.bodies: list[str] = []
        self._sqs: Any = get_session().create_client(
            "sqs",
            region_name=REGION,
            endpoint_url=InternalPorts.read(service.data_dir).cloud_url,
            aws_access_key_id=ACCESS_KEY_ID,
            aws_secret_access_key=read_secret(service.data_dir),
        )
        urls = self._sqs.list_queues()["QueueUrls"]
        self._url = next(url for url in urls if url.endswith("-ses-notifications"))

    def put(self, body: str) -> None:
        """Put a record on the queue, as the topic does."""
        self.bodies.append(body)
        self._sqs.send_message(QueueUrl=self._url, MessageBody=body)


DOMAIN = "/api/v1/sending-domains/example.test"


def test_what_ses_tells_becomes_the_events_of_the_messages(own_service: Service) -> None:
    with ses_stand_in() as ses:
        own_service.start(
            TRANSPORT="ses",
            DELIVER="true",
            SES_ENDPOINT=ses.url,
            SES_REGION="us-east-1",
            SES_ACCESS_KEY_ID="test",
            SES_SECRET_ACCESS_KEY="test",  # pragma: allowlist secret
            SES_CONFIGURATION_SET="postfinch-local",
        )
        queue = Queue(own_service)
        ses.publish = queue.put
        # A check of its records, after which the schedule looks at its identity as well
        assert own_service.request("POST", f"{DOMAIN}/verify", {"dkim_verify": True}).status == 200
        eventually(lambda: "example.test" in ses.identities)
        assert own_service.request("GET", DOMAIN).json["results"]["ses"]["status"] == "pending"
        ses.identities["example.test"].dkim = "SUCCESS"
        own_service.send("bounce@inbox.test", "delay@inbox.test", "complaint@inbox.test")
        own_service.send("late-bounce@inbox.test")
        for name, types in {
            "bounce": ["injection", "bounce"],
            "delay": ["injection", "delay", "delivery"],
            "complaint": ["injection", "delivery", "spam_complaint"],
            "late-bounce": ["injection", "delivery", "out_of_band"],
        }.items():
            address = f"{name}@inbox.test"
            eventually(lambda a=address, t=types: sorted(own_service.event_types(a)) == sorted(t))
        entry = "/api/v1/suppression-list/bounce@inbox.test"
        assert own_service.request("GET", entry).json["results"][0]["source"] == "Bounce Rule"
        # Notifications that come again change nothing
        for body in list(queue.bodies):
            queue.put(body)
        eventually(lambda: own_service.queued() == 0)
        types = ["injection", "bounce"]
        assert eventually(lambda: own_service.event_types("bounce@inbox.test") == types)
        assert own_service.dead_letters() == 0
