"""Send a message by HTTP and one by SMTP, and wait until both are in the mailbox."""

import json
import os
import smtplib
import ssl
import time
import urllib.request
from email.message import EmailMessage

URL, KEY = os.environ["POSTFINCH_URL"], os.environ["API_KEY"]


def call(path: str, body: object = None) -> dict:
    """Make a request of the API, and return the JSON of its answer."""
    request = urllib.request.Request(
        URL + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def send_by_http() -> None:
    """Send by the API."""
    content = {"from": "shop@example.test", "subject": "By HTTP", "text": "Hello"}
    body = {"recipients": [{"address": "ann@inbox.test"}], "content": content}
    call("/api/v1/transmissions", body)


def send_by_smtp() -> None:
    """Send by SMTP with STARTTLS; SSL_CERT_FILE names the authority to trust."""
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.test", "ann@inbox.test"
    message["Subject"] = "By SMTP"
    message.set_content("Hello")
    with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as connection:
        connection.starttls(context=ssl.create_default_context())
        connection.login("SMTP_Injection", KEY)
        connection.send_message(message)


def subjects() -> set[str]:
    """Return the subjects of the mail that has arrived."""
    mail = call("/local/mailbox?to=ann@inbox.test")["results"]
    return {message["subject"] for message in mail}


def main() -> None:
    """Send both and wait for them."""
    send_by_http()
    send_by_smtp()
    deadline = time.monotonic() + 30
    while not subjects() >= {"By HTTP", "By SMTP"}:
        if time.monotonic() > deadline:
            raise SystemExit(f"missing mail: only {subjects()} arrived")
        time.sleep(0.2)
    print("Both messages are in the mailbox.")


if __name__ == "__main__":
    main()
