"""Open a stage that is deployed to AWS, or to an emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core.json_types import Json
from chalicelib.core.sealing import Sealer, key_of
from infrastructure.deployment.stack import CAPABILITIES, ProvisionFailed, Stack
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.place import CLIENT_OPTIONS, Place

#: What completes the base64 form of 32 bytes: the stored secret is without it
_PADDING = "="

Clients = Callable[[str], Any]


class Stage(Place):
    """A deployed stage. ``is_idle`` is the operator's word: its schedules are switched off."""

    makes_first_start = False

    def __init__(self, stage: str, clients: Clients, *, is_idle: bool = False) -> None:
        self._stack = Stack(clients("cloudformation"), f"postfinch-{stage}")
        outputs = self._stack.outputs()
        if "SecretKeyArn" not in outputs:
            raise MoveRefused(f"there is no stage {stage}: deploy it with `postfinch deploy`")
        self.name = f"the stage {stage}"
        self.stage = stage
        self.bucket = outputs["BucketName"]
        self.is_idle = is_idle
        self.dynamodb, self.s3, self.sqs = map(clients, ("dynamodb", "s3", "sqs"))
        self._clients = clients
        self._secret_arn = outputs["SecretKeyArn"]
        self._kms_key_id = outputs["SealingKeyId"]

    @property
    def secret_key(self) -> str:
        """``SECRET_KEY`` of the functions."""
        manager = self._clients("secretsmanager")
        text: str = manager.get_secret_value(SecretId=self._secret_arn)["SecretString"]
        return text + _PADDING

    @property
    def sealer(self) -> Sealer:
        """What seals secrets of the stage: its KMS key."""
        return Sealer(b"", self._kms_key_id, self._clients("kms"))

    def adopt(self, source: Place) -> None:
        """Let the secret of the stage, and each function, have the source's ``SECRET_KEY``.

        The stack names the version of the secret, so that CloudFormation gives it to the functions
        now and keeps it in later deployments.
        """
        key = source.secret_key
        key_of(key)
        parameters = self._stack.parameters()
        if "SecretVersion" not in parameters:
            raise MoveRefused(f"deploy {self.name} again first: its stack is of an earlier version")
        version = self._store(key)
        if parameters["SecretVersion"] == version:
            return
        template: Json = {"UsePreviousTemplate": True, "Capabilities": CAPABILITIES}
        try:
            self._stack.apply(template, {"SecretVersion": version}, keep=parameters)
        except ProvisionFailed as failure:
            raise MoveRefused(f"{self.name} cannot take the SECRET_KEY: {failure}") from None

    def _store(self, key: str) -> str:
        """Store ``SECRET_KEY`` unless it is stored; return the version of the secret."""
        manager = self._clients("secretsmanager")
        secret = manager.get_secret_value(SecretId=self._secret_arn)
        if secret["SecretString"] + _PADDING != key:
            secret = manager.put_secret_value(
                SecretId=self._secret_arn, SecretString=key.removesuffix(_PADDING)
            )
        return str(secret["VersionId"])


def opened(
    stage: str,
    *,
    aws_profile: str = "",
    region: str = "",
    endpoint_url: str = "",
    is_idle: bool = False,
) -> Stage:
    """Open a stage with the credentials of a profile, or else of the AWS variables.

    Raises :class:`MoveRefused`.
    """
    clients: dict[str, Any] = {}
    try:
        session: Any = boto3.session.Session(
            profile_name=aws_profile or None, region_name=region or None
        )

        def client(service: str) -> Any:
            if service not in clients:
                clients[service] = session.client(
                    service, endpoint_url=endpoint_url or None, config=CLIENT_OPTIONS
                )
            return clients[service]

        return Stage(stage, client, is_idle=is_idle)
    except (BotoCoreError, ClientError) as error:
        raise MoveRefused(f"the stage {stage} cannot be opened: {error}") from None
