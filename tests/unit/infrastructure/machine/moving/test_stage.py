from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.stage import Stage
from tests.unit.infrastructure.machine.moving.places import SECRETS, FakePlace, Requests

OUTPUTS = {"SecretKeyArn": "arn:secret", "SealingKeyId": "kms-key", "BucketName": "bucket"}


class FakeAws:
    """CloudFormation and Secrets Manager with one stack."""

    def __init__(self) -> None:
        self.outputs = dict(OUTPUTS)
        self.parameters = {"SystemDomain": "mail.test", "SecretVersion": ""}
        self.secret = "B" * 42 + "A"
        self.version = "1"
        self.updates: list[Any] = []

    def client(self, service: str) -> Any:
        return self

    def describe_stacks(self, **_: Any) -> Any:
        if not self.outputs:
            response: Any = {"Error": {"Code": "ValidationError", "Message": "does not exist"}}
            raise ClientError(response, "DescribeStacks")
        return {
            "Stacks": [
                {
                    "StackStatus": "UPDATE_COMPLETE",
                    "Outputs": pairs(self.outputs, "Output"),
                    "Parameters": pairs(self.parameters, "Parameter"),
                }
            ]
        }

    def update_stack(self, **request: Any) -> None:
        self.updates.append(request)
        for each in request["Parameters"]:
            if "ParameterValue" in each:
                self.parameters[each["ParameterKey"]] = each["ParameterValue"]

    def get_secret_value(self, **_: Any) -> Any:
        return {"SecretString": self.secret, "VersionId": self.version}

    def put_secret_value(self, **request: Any) -> Any:
        self.secret, self.version = request["SecretString"], "2"
        return {"VersionId": self.version}


def pairs(values: dict[str, str], kind: str) -> list[dict[str, str]]:
    return [{f"{kind}Key": name, f"{kind}Value": text} for name, text in values.items()]


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def machine() -> FakePlace:
    return FakePlace("machine", Requests())


def test_the_secret_of_the_machine_reaches_the_functions_by_the_stack(
    aws: FakeAws, machine: FakePlace
) -> None:
    stage = Stage("prod", aws.client)
    stage.adopt(machine)
    assert stage.secret_key == SECRETS["machine"]
    (update,) = aws.updates
    assert update["UsePreviousTemplate"] is True
    assert update["Parameters"] == [
        {"ParameterKey": "SecretVersion", "ParameterValue": "2"},
        {"ParameterKey": "SystemDomain", "UsePreviousValue": True},
    ]


def test_a_stage_that_has_the_secret_is_left_alone(aws: FakeAws, machine: FakePlace) -> None:
    stage = Stage("prod", aws.client)
    stage.adopt(machine)
    stage.adopt(machine)
    assert len(aws.updates) == 1


def test_an_adoption_that_was_killed_before_the_stack_was_updated_goes_on(
    aws: FakeAws, machine: FakePlace
) -> None:
    stage = Stage("prod", aws.client)
    aws.put_secret_value(SecretString=SECRETS["machine"].removesuffix("="))
    stage.adopt(machine)
    assert aws.parameters["SecretVersion"] == "2"


def test_a_stack_of_an_earlier_version_is_refused_before_its_secret_changes(
    aws: FakeAws, machine: FakePlace
) -> None:
    del aws.parameters["SecretVersion"]
    secret = aws.secret
    with pytest.raises(MoveRefused, match="deploy the stage prod again"):
        Stage("prod", aws.client).adopt(machine)
    assert aws.secret == secret


def test_a_stage_that_is_not_deployed_is_refused(aws: FakeAws) -> None:
    aws.outputs = {}
    with pytest.raises(MoveRefused, match="there is no stage prod"):
        Stage("prod", aws.client)
