"""A newsletter that stops for addresses that bounce, by the HTTP API and webhooks: FastAPI."""

import json
import urllib.request

from fastapi import FastAPI, Request

app = FastAPI()
# From the environment in a real program
app.state.api_url, app.state.api_key = "http://localhost:8080", ""
app.state.readers = set()


@app.post("/issues")
def send_issue(issue: dict[str, str]) -> dict[str, str]:
    """Send an issue to all readers."""
    body = {
        "recipients": [{"address": reader} for reader in sorted(app.state.readers)],
        "content": {
            "from": "News <news@example.test>",
            "subject": issue["title"],
            "html": f'<p>{issue["text"]}</p><p><a href="https://news.example/read">Read</a></p>',
        },
    }
    request = urllib.request.Request(
        f"{app.state.api_url}/api/v1/transmissions",
        json.dumps(body).encode(),
        {"Authorization": app.state.api_key, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return {"transmission": json.load(response)["results"]["id"]}


@app.post("/events")
async def take_events(request: Request) -> None:
    """Forget the readers whose mail bounced or who complained; the webhook leads here."""
    for item in await request.json():
        for envelope in item.values():
            for event in envelope.values():
                if event["type"] in ("bounce", "spam_complaint"):
                    app.state.readers.discard(event["rcpt_to"])
