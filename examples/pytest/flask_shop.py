"""A shop that asks a new customer to confirm the address, by SMTP: Flask."""

import smtplib
import ssl
import uuid
from email.message import EmailMessage

from flask import Flask, request

app = Flask(__name__)
# The relay's address and login: from the environment in a real program
app.config.update(SMTP_HOST="localhost", SMTP_PORT=2525, SMTP_USER="", SMTP_PASSWORD="")
app.config.update(SMTP_AUTHORITY=None)  # a file, where none that the machine trusts has signed
confirmations = {}


@app.post("/customers")
def add_customer():
    """Send the mail with the link that confirms the address."""
    token = uuid.uuid4().hex
    confirmations[token] = request.form["email"]
    message = EmailMessage()
    message["From"] = "Shop <shop@example.test>"
    message["To"] = request.form["email"]
    message["Subject"] = "Confirm your address"
    message.set_content(f"Welcome! Confirm: http://localhost/confirm/{token}")
    config = app.config
    with smtplib.SMTP(config["SMTP_HOST"], config["SMTP_PORT"]) as relay:
        relay.starttls(context=ssl.create_default_context(cafile=config["SMTP_AUTHORITY"]))
        relay.login(config["SMTP_USER"], config["SMTP_PASSWORD"])
        relay.send_message(message)
    return {"status": "mail sent"}, 202


@app.get("/confirm/<token>")
def confirm(token):
    """Confirm the address that the mail with this link went to."""
    return {"confirmed": confirmations.pop(token)}
