from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

from chalicelib.core.settings import Settings
from infrastructure.deployment.functions import Function, FunctionKind, functions
from infrastructure.deployment.merge_template import TEMPLATES, merge_template, read
from infrastructure.deployment.setting_parameters import is_secret, parameter_of

FUNCTIONS = functions()

# The limit of Lambda for all environment variables of a function
ENVIRONMENT_BYTES = 4096


@cache
def merged() -> dict[str, Any]:
    return merge_template(FUNCTIONS)


def resources() -> dict[str, Any]:
    return merged()["Resources"]


def of_kind(kind: FunctionKind) -> list[Function]:
    return [function for function in FUNCTIONS if function.kind is kind]


def queue_of(function: Function) -> dict[str, Any]:
    arn = event_source(function)["Queue"]["Fn::Sub"]
    return resources()[arn.removeprefix("${").removesuffix(".Arn}")]["Properties"]


def event_source(function: Function) -> dict[str, Any]:
    events = resources()[function.logical_id]["Properties"]["Events"]
    return events[function.event_id]["Properties"]


def test_the_tables_queues_and_bucket_are_those_of_the_other_template() -> None:
    for logical_id, resource in read(TEMPLATES / "template.yaml")["Resources"].items():
        if logical_id != "Bucket":
            assert resources()[logical_id] == resource


def test_objects_removed_from_the_bucket_can_be_restored_as_long_as_tables() -> None:
    original = read(TEMPLATES / "template.yaml")["Resources"]["Bucket"]["Properties"]
    bucket = resources()["Bucket"]["Properties"]
    assert bucket["BucketName"] == original["BucketName"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    *rules, noncurrent = bucket["LifecycleConfiguration"]["Rules"]
    assert rules == original["LifecycleConfiguration"]["Rules"]
    assert noncurrent["NoncurrentVersionExpiration"] == {"NoncurrentDays": 35}


def test_every_queue_function_reports_which_messages_failed() -> None:
    for function in of_kind(FunctionKind.QUEUE):
        assert event_source(function)["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_messages_stay_hidden_for_six_time_outs_and_the_window() -> None:
    for function in of_kind(FunctionKind.QUEUE):
        parameter = merged()["Parameters"][queue_of(function)["VisibilityTimeout"]["Ref"]]
        assert parameter["Default"] >= 6 * function.size.timeout + function.window
        assert parameter["Default"] <= parameter["MaxValue"]


def test_a_parameter_that_is_not_set_leaves_the_default_of_the_code() -> None:
    variables = merged()["Globals"]["Function"]["Environment"]["Variables"]
    assert merged()["Parameters"]["SystemDomain"]["Default"] == ""
    assert variables["SYSTEM_DOMAIN"] == {
        "Fn::If": ["HasSystemDomain", {"Ref": "SystemDomain"}, {"Ref": "AWS::NoValue"}]
    }


def test_every_setting_of_a_function_is_in_its_environment() -> None:
    variables = merged()["Globals"]["Function"]["Environment"]["Variables"]
    missing = {setting.name for setting in fields(Settings)} - {n.lower() for n in variables}
    assert {name for name in missing if not name.startswith("relay_")} == {
        "deliver",
        "delivery_container",
        "delivery_journal",
        "delivery_processes",
        "delivery_units",
        "max_body_bytes",
        "ses_access_key_id",
        "ses_endpoint",
        "ses_region",
        "ses_secret_access_key",
        "ses_session_token",
    }


def test_fixed_environment_variables_leave_room_for_optional_ones() -> None:
    variables = merged()["Globals"]["Function"]["Environment"]["Variables"]
    fixed_variables = {
        name: value for name, value in variables.items() if "AWS::NoValue" not in json.dumps(value)
    }
    assert set(fixed_variables) == {"STAGE", "LOG_FORMAT", "BUCKET", "KMS_KEY_ID", "SECRET_KEY"}
    assert sum(len(name) + 100 for name in fixed_variables) < ENVIRONMENT_BYTES / 4


def test_a_secret_that_was_moved_here_is_named_by_its_version() -> None:
    variables = merged()["Globals"]["Function"]["Environment"]["Variables"]
    condition, moved, generated = variables["SECRET_KEY"]["Fn::If"]
    assert merged()["Conditions"][condition] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "SecretVersion"}, ""]}]
    }
    assert moved == {
        "Fn::Sub": "{{resolve:secretsmanager:${SecretKey}:SecretString:::${SecretVersion}}}="
    }
    assert generated == {"Fn::Sub": "{{resolve:secretsmanager:${SecretKey}:SecretString}}="}


def test_secret_settings_are_not_shown_again() -> None:
    for setting in fields(Settings):
        parameter = merged()["Parameters"].get(parameter_of(setting.name), {})
        if parameter and is_secret(setting):
            assert parameter["NoEcho"] is True
    assert merged()["Parameters"]["SmarthostPassword"]["NoEcho"] is True


def test_every_function_has_its_own_role_and_log_group() -> None:
    for function in FUNCTIONS:
        properties = resources()[function.logical_id]["Properties"]
        role, logs = f"{function.logical_id}Role", f"{function.logical_id}LogGroup"
        assert properties["Role"] == {"Fn::GetAtt": [role, "Arn"]}
        logging = properties["LoggingConfig"]
        assert logging["LogGroup"] == {"Ref": logs}
        assert (logging["LogFormat"], logging["SystemLogLevel"]) == ("JSON", "WARN")
        assert resources()[logs]["Properties"]["RetentionInDays"] == {"Ref": "LogRetention"}


def test_every_dead_letter_queue_and_every_schedule_has_an_alarm() -> None:
    watched = {
        dimension["Value"].get("Ref") or dimension["Value"]["Fn::Sub"]
        for resource in resources().values()
        if resource.get("Type") == "AWS::CloudWatch::Alarm"
        for dimension in resource["Properties"]["Dimensions"]
        if isinstance(dimension["Value"], dict)
    }
    dead = {name for name in resources() if name.endswith("DeadQueue")}
    assert len(dead) >= len(of_kind(FunctionKind.QUEUE))
    assert {f"${{{name}.QueueName}}" for name in dead} <= watched
    assert {function.logical_id for function in of_kind(FunctionKind.SCHEDULE)} <= watched


def test_the_alarm_of_a_schedule_covers_several_of_its_calls() -> None:
    """Otherwise the hourly schedule could never fail often enough for its alarm."""
    for function in of_kind(FunctionKind.SCHEDULE):
        alarm = resources()[f"{function.logical_id}Alarm"]["Properties"]
        calls = alarm["Period"] * alarm["EvaluationPeriods"] / function.every
        assert 1 < alarm["Threshold"] <= calls <= 10, function.name


def test_a_failed_call_of_a_schedule_is_not_retried() -> None:
    for function in of_kind(FunctionKind.SCHEDULE):
        properties = resources()[function.logical_id]["Properties"]
        assert properties["EventInvokeConfig"]["MaximumRetryAttempts"] == 0


def test_a_function_with_the_name_of_a_resource_is_refused() -> None:
    clash = replace(of_kind(FunctionKind.SCHEDULE)[0], logical_id="Bucket")
    with pytest.raises(ValueError, match="Bucket is both a function and a resource"):
        merge_template([*FUNCTIONS, clash])


def test_a_function_with_the_name_of_a_parameter_is_refused() -> None:
    clash = replace(of_kind(FunctionKind.SCHEDULE)[0], logical_id="Tracing")
    with pytest.raises(ValueError, match="Tracing is both a parameter and a resource"):
        merge_template([*FUNCTIONS, clash])


def test_a_function_of_an_undeclared_queue_is_refused() -> None:
    stray = replace(of_kind(FunctionKind.QUEUE)[0], queue="stray")
    with pytest.raises((ValueError, KeyError), match="stray"):
        merge_template([stray])


def test_the_dashboard_shows_every_queue_function_and_table() -> None:
    dashboard = resources()["StageDashboard"]
    text = dashboard["Properties"]["DashboardBody"]["Fn::Sub"]
    names = set(re.findall(r"\$\{(\w+)(?:\.QueueName)?\}", text)) - {"Stage"}
    assert names <= resources().keys()
    assert {function.logical_id for function in FUNCTIONS} <= names
    kinds = ("AWS::SQS::Queue", "AWS::DynamoDB::Table")
    assert {name for name, each in resources().items() if each.get("Type") in kinds} <= names
    widgets = json.loads(text)["widgets"]
    places = {(widget["x"], widget["y"]) for widget in widgets}
    assert len(places) == len(widgets)
    assert all(widget["x"] + widget["width"] <= 24 for widget in widgets)
    assert all(len(metric) >= 4 for w in widgets for metric in w["properties"]["metrics"])


def test_the_parts_for_ses_are_there_only_where_mail_leaves_by_it() -> None:
    parts = {name: each for name, each in resources().items() if each.get("Condition")}
    names = [name for name, each in parts.items() if each["Condition"] == "SendsBySes"]
    assert [parts[name]["Type"] for name in names] == [
        "AWS::SES::ConfigurationSet",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
        "AWS::SES::ConfigurationSetEventDestination",
        "AWS::SQS::QueuePolicy",
        "AWS::SNS::Subscription",
    ]
    assert merged()["Conditions"]["SendsBySes"] == {"Fn::Equals": [{"Ref": "Transport"}, "ses"]}
    variables = merged()["Globals"]["Function"]["Environment"]["Variables"]
    choice = ["SendsBySes", {"Ref": "SesConfigurationSet"}, {"Ref": "AWS::NoValue"}]
    assert variables["SES_CONFIGURATION_SET"] == {"Fn::If": choice}
    (function,) = (each for each in FUNCTIONS if each.queue == "ses-notifications")
    assert event_source(function)["Enabled"] == {"Fn::If": ["SendsBySes", True, False]}


def test_only_the_stages_configuration_set_may_tell_of_mail() -> None:
    topic = resources()["SesTopicPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    (statement,) = topic
    assert statement["Principal"] == {"Service": "ses.amazonaws.com"}
    condition = statement["Condition"]["StringEquals"]
    assert condition["AWS:SourceAccount"] == {"Ref": "AWS::AccountId"}
    assert condition["AWS:SourceArn"]["Fn::Sub"].endswith(
        ":configuration-set/${SesConfigurationSet}"
    )
    (statement,) = resources()["SesQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": "SesTopic"}}}
    subscription = resources()["SesSubscription"]["Properties"]
    assert subscription["Endpoint"] == {"Fn::Sub": "${SesNotificationsQueue.Arn}"}
    assert subscription["RawMessageDelivery"] is True
    assert subscription["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::Sub": "${SesNotificationsDeadQueue.Arn}"}
    }


def test_the_function_of_targets_runs_only_where_there_are_some() -> None:
    (function,) = (each for each in FUNCTIONS if each.queue == "event-exports")
    assert event_source(function)["Enabled"] == {"Fn::If": ["HasEventTargets", True, False]}
    role = resources()[f"{function.logical_id}Role"]["Properties"]
    policy = role["Policies"][0]["PolicyDocument"]["Statement"]
    ((_, statement, _),) = (
        each["Fn::If"] for each in policy if each.get("Fn::If", [""])[0] == "HasEventTargets"
    )
    assert statement["Resource"] == {"Fn::Split": [",", {"Ref": "EventTargets"}]}
    assert {"events:PutEvents", "sns:Publish", "sqs:SendMessage"} <= set(statement["Action"])
    assert merged()["Parameters"]["EventTargets"]["AllowedPattern"]
