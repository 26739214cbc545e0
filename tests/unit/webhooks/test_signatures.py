"""Verify signed posts with the library of the Standard Webhooks project, as a receiver does."""

from __future__ import annotations

import pytest
from standardwebhooks.webhooks import Webhook as Receiver
from standardwebhooks.webhooks import WebhookVerificationError

from chalicelib.core import clock
from tests.http_target import Post, Target
from tests.unit.calling import Client
from tests.unit.webhooks.test_routes import PATH, make, show

DAY = 86_400


def draw(client: Client, webhook: str) -> str:
    return client.post(f"{PATH}/{webhook}/signing-secret", None).results["signing_secret"]


def posted(client: Client, webhook: str, target: Target) -> Post:
    assert client.post(f"{PATH}/{webhook}/validate", None).status == 200
    return target.posts[-1]


def verify(secret: str, post: Post) -> None:
    Receiver(secret).verify(post.body, dict(post.headers))


def test_a_webhook_without_a_secret_does_not_sign(client: Client, target: Target) -> None:
    webhook = make(client, target)
    assert show(client, webhook)["signed"] is False
    assert "webhook-signature" not in posted(client, webhook, target).headers


def test_a_receiver_can_verify_a_signed_post(client: Client, target: Target) -> None:
    webhook = make(client, target)
    secret = draw(client, webhook)
    assert secret.startswith("whsec_")
    assert show(client, webhook)["signed"] is True
    assert secret not in str(show(client, webhook))
    post = posted(client, webhook, target)
    verify(secret, post)
    assert post.headers["webhook-id"] == post.batch_id
    changed = Post(post.path, post.headers, b"[]")
    with pytest.raises(WebhookVerificationError):
        verify(secret, changed)


def test_for_a_day_both_the_old_and_the_new_secret_sign(client: Client, target: Target) -> None:
    webhook = make(client, target)
    began = clock.now()
    first = draw(client, webhook)
    second = draw(client, webhook)
    post = posted(client, webhook, target)
    for secret in (first, second):
        verify(secret, post)
    with clock.use(lambda: began + DAY + 2):
        post = posted(client, webhook, target)
    assert post.headers["webhook-signature"].count("v1,") == 1
    with clock.use(lambda: began + DAY + 2):
        third = draw(client, webhook)
        post = posted(client, webhook, target)
    assert post.headers["webhook-signature"].count("v1,") == 2
    assert third not in (first, second)


def test_only_the_five_newest_secrets_sign(client: Client, target: Target) -> None:
    webhook = make(client, target)
    secrets = [draw(client, webhook) for _ in range(7)]
    post = posted(client, webhook, target)
    assert post.headers["webhook-signature"].count("v1,") == 5
    for secret in secrets[-5:]:
        verify(secret, post)


def test_a_deleted_secret_does_not_sign(client: Client, target: Target) -> None:
    webhook = make(client, target)
    draw(client, webhook)
    assert client.delete(f"{PATH}/{webhook}/signing-secret").status == 204
    assert show(client, webhook)["signed"] is False
    assert "webhook-signature" not in posted(client, webhook, target).headers
