from __future__ import annotations

from typing import Any

from infrastructure.deployment.functions import Function, functions
from infrastructure.deployment.merge_template import TEMPLATES, read
from infrastructure.deployment.permissions import relay_statements, statements

RESOURCES: dict[str, Any] = read(TEMPLATES / "template.yaml")["Resources"]
FUNCTIONS = {function.name: function for function in functions()}


def actions(function: Function) -> set[str]:
    return {action for each in statements(function, RESOURCES) for action in each["Action"]}


def test_no_function_may_scan_or_change_a_table_or_use_every_resource() -> None:
    for function in functions():
        for statement in statements(function, RESOURCES):
            assert statement["Resource"] != "*"
            for action in statement["Action"]:
                assert "*" not in action
                assert action not in ("dynamodb:Scan", "dynamodb:CreateTable")


def test_no_function_may_change_or_delete_a_line_of_the_audit_log() -> None:
    allowed = {
        action
        for function in functions()
        for statement in statements(function, RESOURCES)
        if any("AuditTable" in str(resource) for resource in statement["Resource"])
        for action in statement["Action"]
    }
    assert allowed == {"dynamodb:PutItem", "dynamodb:Query"}


def test_only_functions_that_sign_or_create_keys_may_use_the_sealing_key() -> None:
    encrypting = {name for name, f in FUNCTIONS.items() if "kms:Encrypt" in actions(f)}
    decrypting = {name for name, f in FUNCTIONS.items() if "kms:Decrypt" in actions(f)}
    assert "api_handler" in encrypting
    assert "generation" in decrypting
    assert {"delivery", "events"}.isdisjoint(encrypting | decrypting)


def test_only_functions_that_deliver_may_send_by_ses() -> None:
    sending = {name for name, f in FUNCTIONS.items() if "ses:SendRawEmail" in actions(f)}
    assert {"delivery", "generation"} <= sending
    assert "api_handler" not in sending


def test_a_queue_is_read_only_by_its_function() -> None:
    readers: dict[str, list[str]] = {}
    for function in functions():
        for statement in statements(function, RESOURCES):
            if "sqs:ReceiveMessage" in statement["Action"]:
                (queue,) = statement["Resource"]
                readers.setdefault(queue["Fn::Sub"], []).append(function.name)
    assert all(len(names) == 1 for names in readers.values())


def test_a_missing_object_can_be_told_from_a_forbidden_one() -> None:
    for function in functions():
        allowed = statements(function, RESOURCES)
        reads = any("s3:GetObject" in each["Action"] for each in allowed)
        assert reads == any(each["Action"] == ["s3:ListBucket"] for each in allowed)


def test_the_relay_may_queue_messages_but_neither_receive_them_nor_send_by_ses() -> None:
    allowed = {
        action for statement in relay_statements(RESOURCES) for action in statement["Action"]
    }
    assert {"sqs:SendMessage", "dynamodb:GetItem", "s3:PutObject"} <= allowed
    assert "sqs:ReceiveMessage" not in allowed
    assert not any(action.startswith("ses:") for action in allowed)
