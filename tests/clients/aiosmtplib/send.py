"""Send by SMTP with aiosmtplib, which asynchronous programs use.

Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or implicit), API_KEY, AUTHORITY, FROM, TO.
"""

import asyncio
import os
from email.message import EmailMessage

import aiosmtplib

message = EmailMessage()
message["From"] = f"Ann <{os.environ['FROM']}>"
message["To"] = os.environ["TO"]
message["Subject"] = "Grüße"
message["X-SVC-API"] = '{"campaign_id": "clients"}'
message.set_content("Hello from aiosmtplib")
message.add_attachment("kept", filename="notes.txt")
implicit = os.environ["SMTP_TLS"] == "implicit"
asyncio.run(
    aiosmtplib.send(
        message,
        hostname=os.environ["SMTP_HOST"],
        port=int(os.environ["SMTP_PORT"]),
        use_tls=implicit,
        start_tls=not implicit,
        cert_bundle=os.environ["AUTHORITY"],
        username="SMTP_Injection",
        password=os.environ["API_KEY"],
    )
)
