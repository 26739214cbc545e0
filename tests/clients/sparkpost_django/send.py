"""Send by Django's mail functions with the backend that the library `sparkpost` has.

Environment: SPARKPOST_BASE_URI (host and port), API_KEY, TO, and the authority in
REQUESTS_CA_BUNDLE.
"""

import os

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

settings.configure(
    EMAIL_BACKEND="sparkpost.django.email_backend.SparkPostEmailBackend",
    SPARKPOST_API_KEY=os.environ["API_KEY"],
    SPARKPOST_BASE_URI=os.environ["SPARKPOST_BASE_URI"],
    SPARKPOST_OPTIONS={"campaign": "clients", "track_opens": False},
)
message = EmailMultiAlternatives(
    "Grüße", "Hello from Django", "Ann <ann@example.test>", [os.environ["TO"]]
)
message.attach_alternative("<p>Hello from Django</p>", "text/html")
message.attach("notes.txt", "kept", "text/plain")
print(message.send())
