"""Open a stage that is deployed to AWS, or to an emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core.sealing import Sealer, key_of
from infrastructure.deployment.stack import Stack
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.place import CLIENT_OPTIONS, Place

#: What completes the base64 form of 32 bytes: the stored secret is without it
_PADDING = "="

Clients = Callable[[str], Any]


class Stage(Place):
    """A deployed stage. ``is_idle`` is the operator's word: its schedules are switched off."""

    makes_first_start = False

    def __init__(self, stage: str, clients: Clients, *, is_idle: bool = False) -> None:
        outputs = Stack(clients("cloudformation"), f"postfinch-{stage}").outputs()
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

        The stack refers to the secret, so later deployments take the same value. CloudFormation
        would not see that the secret has changed: the functions get it here.
        """
        key = source.secret_key
        key_of(key)
        if self.secret_key != key:
            self._clients("secretsmanager").put_secret_value(
                SecretId=self._secret_arn, SecretString=key.removesuffix(_PADDING)
            )
        functions = self._clients("lambda")
        for name in self._functions():
            environment = functions.get_function_configuration(FunctionName=name)["Environment"]
            if environment["Variables"].get("SECRET_KEY", key) == key:
                continue
            variables = environment["Variables"] | {"SECRET_KEY": key}
            functions.update_function_configuration(
                FunctionName=name, Environment={"Variables": variables}
            )
            functions.get_waiter("function_updated_v2").wait(FunctionName=name)

    def _functions(self) -> list[str]:
        """Return the names of the stage's functions."""
        pages = self._clients("cloudformation").get_paginator("list_stack_resources")
        return [
            resource["PhysicalResourceId"]
            for page in pages.paginate(StackName=f"postfinch-{self.stage}")
            for resource in page["StackResourceSummaries"]
            if resource["ResourceType"] == "AWS::Lambda::Function"
        ]


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
