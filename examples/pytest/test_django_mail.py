"""Test mail of Django: settings that send by the account of the test."""

import django
import pytest
from django.conf import settings
from django.core.mail import EmailMultiAlternatives

if not settings.configured:  # a project has a settings module
    settings.configure(DEFAULT_FROM_EMAIL="shop@example.test", EMAIL_USE_TLS=True)
    django.setup()


@pytest.fixture
def mail(postfinch, monkeypatch):
    """The mailbox that Django's mail arrives in."""
    smtp = postfinch.smtp
    # pytest-django puts another backend here, which keeps mail to itself
    backend = "django.core.mail.backends.smtp.EmailBackend"
    monkeypatch.setattr(settings, "EMAIL_BACKEND", backend, raising=False)
    monkeypatch.setattr(settings, "EMAIL_HOST", smtp.host, raising=False)
    monkeypatch.setattr(settings, "EMAIL_PORT", smtp.port, raising=False)
    monkeypatch.setattr(settings, "EMAIL_HOST_USER", smtp.user, raising=False)
    monkeypatch.setattr(settings, "EMAIL_HOST_PASSWORD", smtp.password, raising=False)
    # Django checks the relay's certificate: its authority is that of the local service
    monkeypatch.setenv("SSL_CERT_FILE", smtp.authority)
    return postfinch.mailbox


def test_an_order_is_confirmed(mail):
    message = EmailMultiAlternatives("Your order 7", "Thank you.", to=["ann@inbox.test"])
    message.attach_alternative("<h1>Thank you.</h1>", "text/html")
    message.attach("invoice.txt", "7 finches", "text/plain")
    assert message.send() == 1
    arrived = mail.wait_for(to="ann@inbox.test")
    assert arrived.subject == "Your order 7"
    assert "<h1>Thank you.</h1>" in arrived.html
    assert [each.name for each in arrived.attachments] == ["invoice.txt"]
