"""Use the Mailpit of Testcontainers with another image, as a test of an application does.

Environment: POSTFINCH_IMAGE, and what leads Testcontainers to an engine.
"""

import json
import os
import smtplib
import ssl
import urllib.request
from email.message import EmailMessage

from testcontainers.community.mailpit import MailpitContainer, MailpitUser

IMAGE = os.environ["POSTFINCH_IMAGE"]


def message() -> EmailMessage:
    """Return what is sent."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@shop.test", "b@shop.test", "Hello"
    message.set_content("Hello")
    return message


def subjects(container: MailpitContainer) -> list[str]:
    """Return what the API lists."""
    url = f"{container.get_base_api_url()}/api/v1/messages"
    with urllib.request.urlopen(url, timeout=60) as response:
        return [each["Subject"] for each in json.load(response)["messages"]]


def address(container: MailpitContainer) -> tuple[str, int]:
    """Return where to send."""
    return container.get_container_host_ip(), container.get_exposed_smtp_port()


def main() -> None:
    """Send without a login, and with one under TLS, each to a container of its own."""
    with MailpitContainer(IMAGE) as container:
        with smtplib.SMTP(*address(container), timeout=60) as connection:
            connection.send_message(message())
        assert subjects(container) == ["Hello"]
    users = [MailpitUser("jane", "secret"), MailpitUser("ron", "pass2")]
    with MailpitContainer(IMAGE, users=users, require_tls=True) as container:
        # The certificate is of the container, as that of the module is of its own
        context = ssl._create_unverified_context()
        with smtplib.SMTP_SSL(*address(container), timeout=60, context=context) as connection:
            assert connection.login("ron", "pass2")[0] == 235
            connection.send_message(message())
        with smtplib.SMTP_SSL(*address(container), timeout=60, context=context) as connection:
            try:
                connection.login("ron", "secret")
            except smtplib.SMTPAuthenticationError:
                pass
            else:
                raise AssertionError("a wrong password is taken")
        assert subjects(container) == ["Hello"]
    print("caught with and without a login")


if __name__ == "__main__":
    main()
