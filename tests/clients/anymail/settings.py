"""The settings of the Django project."""

import os

ALLOWED_HOSTS = ["127.0.0.1"]
ANYMAIL = {
    "SPARKPOST_API_KEY": os.environ["API_KEY"],
    "SPARKPOST_API_URL": os.environ["POSTFINCH_URL"] + "/api/v1/",
    "WEBHOOK_SECRET": "hook:secret",
}
DEFAULT_FROM_EMAIL = "ann@example.test"
EMAIL_BACKEND = "anymail.backends.sparkpost.EmailBackend"
INSTALLED_APPS = ["anymail"]
ROOT_URLCONF = "urls"
SECRET_KEY = "of this program"
