"""Send a message by SMTP with Python's standard library."""

import json
import os
import smtplib
import ssl
import sys
from email.message import EmailMessage
from urllib.parse import urlsplit

HOST = urlsplit(os.environ.get("POSTFINCH_URL", "http://localhost:8080")).hostname
PORT = int(os.environ.get("POSTFINCH_SMTP_PORT", "2525"))
KEY = os.environ.get("API_KEY") or sys.exit("set API_KEY to the key that the start prints")


def main() -> None:
    """Send one message with a campaign, metadata and an attachment."""
    message = EmailMessage()
    message["From"] = "hello@example.test"
    message["To"] = "ann@inbox.test"
    message["Subject"] = "Hello by SMTP"
    message["X-SVC-API"] = json.dumps({"campaign_id": "smtp-example", "metadata": {"order": 7}})
    message.set_content("Hello")
    message.add_attachment(b"1,2,3\n", maintype="text", subtype="csv", filename="numbers.csv")

    # The local relay has a self-signed certificate. In production use ssl.create_default_context().
    context = ssl._create_unverified_context()
    with smtplib.SMTP(HOST, PORT) as smtp:
        smtp.starttls(context=context)
        smtp.login("SMTP_Injection", KEY)
        smtp.send_message(message)
    print("accepted")


if __name__ == "__main__":
    main()
