"""Send a message to two recipients, one of whom bounces, and wait for what happened to both."""

import json
import os
import sys
import time
import urllib.parse
import urllib.request

URL = os.environ.get("POSTFINCH_URL", "http://localhost:8080")
KEY = os.environ.get("API_KEY") or sys.exit("set API_KEY to the key that the start prints")


def call(method: str, path: str, body: object = None) -> dict:
    """Send a request to the API and return its response; an error status raises HTTPError."""
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def events_of(transmission_id: str) -> list[dict]:
    """Return the final events of a transmission's messages."""
    query = urllib.parse.urlencode({"transmissions": transmission_id, "events": "delivery,bounce"})
    return call("GET", f"/api/v1/events/message?{query}")["results"]


def main() -> None:
    """Send, then print one line for each recipient."""
    tag = time.time_ns()  # a recipient that bounced is suppressed, so each run takes another
    transmission = call(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "python-example",
            "recipients": [
                {
                    "address": {"email": f"ann+{tag}@inbox.test", "name": "Ann"},
                    "substitution_data": {"name": "Ann"},
                },
                {"address": {"email": f"bounce-hard+{tag}@inbox.test"}},
            ],
            "content": {
                "from": {"email": "hello@example.test", "name": "Example"},
                "subject": "Hello {{name or 'you'}}",
                "html": "<p>Hello {{name or 'you'}}, <a href='https://example.com'>come in</a></p>",
                "text": "Hello {{name or 'you'}}",
            },
        },
    )["results"]
    print("accepted:", transmission["total_accepted_recipients"])

    deadline = time.monotonic() + 20
    while len(events := events_of(transmission["id"])) < 2:
        if time.monotonic() > deadline:
            raise SystemExit("the events did not come in time")
        time.sleep(0.2)
    for event in events:
        print(event["type"], event["rcpt_to"], event.get("raw_reason", ""))


if __name__ == "__main__":
    main()
