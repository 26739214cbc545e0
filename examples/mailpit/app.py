"""Send as an application does by default, and read it as its tests do that have Mailpit."""

import json
import os
import smtplib
import urllib.request
from email.message import EmailMessage

message = EmailMessage()
message["From"], message["To"] = "shop@shop.example", "Ann <ann@customer.example>"
message["Subject"] = "Your order"
message.set_content("Thank you.")
with smtplib.SMTP(os.environ["MAIL_HOST"], int(os.environ["MAIL_PORT"])) as connection:
    connection.login("any name", "any password")
    connection.send_message(message)
url = os.environ["MAILPIT_URL"]
with urllib.request.urlopen(f"{url}/api/v1/search?query=to:ann@customer.example") as response:
    (row,) = json.load(response)["messages"]
with urllib.request.urlopen(f"{url}/view/{row['ID']}.txt") as response:
    print(row["Subject"], response.read().decode().strip(), sep=": ")
