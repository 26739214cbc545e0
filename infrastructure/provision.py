"""Create or update the stack of ``template.yaml``, wherever ``AWS_ENDPOINT_URL`` points.

``python -m infrastructure.provision`` takes the stage and the bucket's name from the settings. It
may be run any number of times: a stack that is up to date is left alone, and one whose creation
failed is removed and made again. It returns when the stack is complete; otherwise
:class:`ProvisionFailed` carries the reason of the first resource that failed.

A local cloud's CloudFormation may take a table's time to live and point-in-time recovery and ignore
them. What the template says of them is therefore compared with the tables afterwards, and set where
it is missing; on AWS nothing is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import yaml
from botocore.exceptions import ClientError

from chalicelib.core.settings import settings

TEMPLATE = Path(__file__).with_name("template.yaml")
DEADLINE = 600.0

_NEVER_COMPLETED = ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "REVIEW_IN_PROGRESS")
_UNKNOWN = "no reason was given"
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")

Json = dict[str, Any]


class ProvisionFailed(RuntimeError):
    """The stack could not be made as the template says."""


def provision(stage: str, parameters: Mapping[str, str] | None = None) -> None:
    """Make the stack ``postfinch-<stage>`` what the template says, with ``parameters`` besides.

    Parameters are those of the template other than ``Stage``. Raises :class:`ProvisionFailed`.
    """
    given = {"Stage": stage, **(parameters or {})}
    stack = Stack(boto3.client("cloudformation"), f"postfinch-{stage}")
    stack.apply(TEMPLATE.read_text(), given)
    for resource in read_template()["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            _complete_table(stage, resource["Properties"])


class Stack:
    """One CloudFormation stack."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name

    def apply(self, template: str, parameters: Mapping[str, str]) -> None:
        """Create or update the stack and wait; raises :class:`ProvisionFailed`."""
        request: Json = {
            "StackName": self._name,
            "TemplateBody": template,
            "Parameters": [
                {"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()
            ],
        }
        if self._settled() in _NEVER_COMPLETED:
            self._client.delete_stack(StackName=self._name)
            self._settled()
        if self._status() is None:
            self._client.create_stack(**request)
        elif not self._update(request):
            return
        if self._settled() not in _COMPLETE:
            raise ProvisionFailed(f"{self._name}: {self._status()}: {self._reason()}")

    def _update(self, request: Json) -> bool:
        try:
            self._client.update_stack(**request)
        except ClientError as error:
            if "No updates are to be performed" in str(error):
                return False
            raise
        return True

    def _status(self) -> str | None:
        try:
            found = self._client.describe_stacks(StackName=self._name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise
        status: str = found["StackStatus"]
        return None if status == "DELETE_COMPLETE" else status

    def _settled(self) -> str | None:
        """Wait until no operation runs on the stack; return its status."""
        deadline = time.monotonic() + DEADLINE
        pause = 0.02
        while (status := self._status()) and status.endswith("_IN_PROGRESS"):
            if status == "REVIEW_IN_PROGRESS":
                break
            if time.monotonic() > deadline:
                raise ProvisionFailed(f"{self._name}: still {status} after {DEADLINE:.0f} s")
            time.sleep(pause)
            pause = min(5.0, pause * 1.5)
        return status

    def _reason(self) -> str:
        """Return what was said of the earliest failure of the latest operation."""
        events = self._client.describe_stack_events(StackName=self._name)["StackEvents"]
        reason = _UNKNOWN
        for event in events:
            if event["ResourceStatus"].endswith("_FAILED"):
                said = event.get("ResourceStatusReason", _UNKNOWN)
                reason = f"{event['LogicalResourceId']}: {said}"
            elif _begins_operation(event):
                break
        return self._refusals() if "DescribeEvents" in reason else reason

    def _refusals(self) -> str:
        """Return why the template was refused before anything was made of it."""
        events = self._client.describe_events(StackName=self._name)["OperationEvents"]
        refusals = [
            f"{event['ValidationPath']}: {event['ValidationStatusReason']}"
            for event in events
            if event.get("EventType") == "VALIDATION_ERROR"
        ]
        return "; ".join(refusals) or _UNKNOWN


def _begins_operation(event: Json) -> bool:
    return event["ResourceType"] == "AWS::CloudFormation::Stack" and event["ResourceStatus"] in (
        "CREATE_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
    )


class _Template(yaml.SafeLoader):
    """YAML with CloudFormation's short forms, read as ``{function: argument}``."""


def _short_form(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Json:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


_Template.add_multi_constructor("!", _short_form)


def read_template() -> Json:
    """Return the template; a short form such as ``!Sub x`` becomes ``{"Sub": "x"}``."""
    template: Json = yaml.load(TEMPLATE.read_text(), _Template)
    return template


def _complete_table(stage: str, declared: Json) -> None:
    """Set time to live and point-in-time recovery where the stack's deployment did not."""
    client: Any = boto3.client("dynamodb")
    name = declared["TableName"]["Sub"].replace("${Stage}", stage)
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if expiry["TimeToLiveStatus"] == "DISABLED":
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification=declared["TimeToLiveSpecification"]
        )
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    if recovery == "DISABLED":
        client.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification=declared["PointInTimeRecoverySpecification"],
        )


def main() -> int:
    """Provision the stack that the settings name."""
    configured = settings()
    parameters = {"BucketName": configured.bucket} if configured.bucket else {}
    try:
        provision(configured.stage, parameters)
    except ProvisionFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
