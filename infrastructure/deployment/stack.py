"""Create a CloudFormation stack, update it in place, or create it again where creation failed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from botocore.exceptions import ClientError

from chalicelib.core.json_types import Json

DEADLINE = 1800.0
#: What a stack with functions may do: SAM's resources are expanded, each function gets a role
CAPABILITIES = ["CAPABILITY_AUTO_EXPAND", "CAPABILITY_IAM"]

_NEVER_COMPLETED = ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "REVIEW_IN_PROGRESS")
_UNKNOWN = "no reason was given"
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


class ProvisionFailed(RuntimeError):
    """CloudFormation could not bring the stack to what the template says."""


class Stack:
    """One CloudFormation stack."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name

    def apply(
        self, source: Json, parameters: Mapping[str, str], *, keep: Collection[str] = ()
    ) -> None:
        """Create or update the stack and wait; raises :class:`ProvisionFailed`.

        ``source`` says where the template is (``TemplateBody`` or ``TemplateURL``) and what it may
        do (``Capabilities``). The parameters named in ``keep`` keep the values that the
        stack has, unless ``parameters`` has new ones.
        """
        status = self._wait_until_settled()
        if status in _NEVER_COMPLETED:
            self._client.delete_stack(StackName=self._name)
            status = self._wait_until_settled()
        previous = set(keep) - set(parameters)
        if previous:
            previous &= set(self.parameters())
        request: Json = {
            "StackName": self._name,
            **source,
            "Parameters": [
                *({"ParameterKey": key, "ParameterValue": parameters[key]} for key in parameters),
                *({"ParameterKey": key, "UsePreviousValue": True} for key in sorted(previous)),
            ],
        }
        if status is None:
            self._client.create_stack(**request)
        elif not self._update(request):
            return
        if (status := self._wait_until_settled()) not in _COMPLETE:
            raise ProvisionFailed(f"{self._name}: {status}: {self._reason()}")

    def _update(self, request: Json) -> bool:
        try:
            self._client.update_stack(**request)
        except ClientError as error:
            if "No updates are to be performed" in str(error):
                return False
            raise
        return True

    def exists(self) -> bool:
        """Tell whether the stack was ever completed."""
        return self._status() not in (None, *_NEVER_COMPLETED)

    def parameters(self) -> dict[str, str]:
        """Return the parameters of the stack as it is; those that are secret are masked."""
        parameters = (self._description() or {}).get("Parameters", [])
        return {each["ParameterKey"]: each["ParameterValue"] for each in parameters}

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the stack as it is."""
        outputs = (self._description() or {}).get("Outputs", [])
        return {each["OutputKey"]: each["OutputValue"] for each in outputs}

    def _status(self) -> str | None:
        description = self._description()
        return description["StackStatus"] if description else None

    def _description(self) -> Json | None:
        try:
            description: Json = self._client.describe_stacks(StackName=self._name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise
        return None if description["StackStatus"] == "DELETE_COMPLETE" else description

    def _wait_until_settled(self) -> str | None:
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
        """Return the reason of the earliest failure of the latest operation."""
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
        """Return why the template was refused before anything was created."""
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
