"""E-mail settings of a Django project that sends through Postfinch.

Copy these lines into your project's settings. ``send_mail`` and ``EmailMessage`` then work as
usual; the header ``X-SVC-API`` sets a campaign, metadata and tracking:

    EmailMessage(..., headers={"X-SVC-API": '{"campaign_id": "welcome"}'}).send()

Django verifies the relay's certificate. The local relay has a self-signed one, which
``make run`` keeps under ``.local/``; name it in the environment of your project:

    SSL_CERT_FILE=.local/tls/relay-cert.pem python manage.py runserver
"""

import os

EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = os.environ.get("EMAIL_HOST", "localhost")
EMAIL_PORT = int(os.environ.get("POSTFINCH_SMTP_PORT", "2525"))
EMAIL_USE_TLS = True  # STARTTLS; the relay takes a login only after it
EMAIL_HOST_USER = "SMTP_Injection"
EMAIL_HOST_PASSWORD = os.environ["API_KEY"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = "hello@example.test"
