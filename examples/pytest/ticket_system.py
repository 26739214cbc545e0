"""A ticket system by mail: a relay webhook brings what customers write: FastAPI."""

import json
import urllib.request

from fastapi import FastAPI, Request

app = FastAPI()
# From the environment in a real program
app.state.api_url, app.state.api_key = "http://localhost:8080", ""
app.state.reply_domain = "reply.example.test"
app.state.tickets = {}


@app.post("/mail")
async def take_mail(request: Request) -> None:
    """Open a ticket, or add an answer to the one that it is about; the relay webhook leads here."""
    for item in await request.json():
        for envelope in item.values():
            take_message(envelope["relay_message"])


def take_message(message: dict) -> None:
    """Take one message; the service says which of our messages it answers."""
    if origin := message["in_reply_to"]:
        ticket = find_ticket(origin["transmission_id"])
        ticket["messages"].append(message["reply_text"])
        return
    ticket = {"from": message["friendly_from"], "messages": [message["content"]["text"]]}
    app.state.tickets[message["relay_id"]] = ticket
    subject = f"Re: {message['content']['subject']}"
    ticket["transmission_id"] = send(ticket["from"], subject, "We look into it.")


def find_ticket(transmission_id: str) -> dict:
    """Return the ticket whose sender got a transmission."""
    tickets = app.state.tickets.values()
    return next(each for each in tickets if each["transmission_id"] == transmission_id)


def send(to: str, subject: str, text: str) -> str:
    """Send a message whose answer comes back here; return the transmission's id."""
    body = {
        "recipients": [{"address": to}],
        "content": {"from": "Support <support@example.test>", "subject": subject, "text": text},
        "options": {"reply_domain": app.state.reply_domain},
    }
    request = urllib.request.Request(
        f"{app.state.api_url}/api/v1/transmissions",
        json.dumps(body).encode(),
        {"Authorization": app.state.api_key, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["results"]["id"]
