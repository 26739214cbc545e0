from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.core import clock
from chalicelib.metrics.model import METRICS, PLACEMENTS
from chalicelib.metrics.query_filters import SCHEMA
from chalicelib.metrics.rollup import roll_up_pending
from tests.unit.calling import Client, Response
from tests.unit.metrics.examples import mail, record
from tests.unit.people import make_account, make_key, make_user, sign_in

#: 2026-11-19 12:00 UTC
NOON = 1_795_089_600_000
ROOT = "/api/v1/metrics"
PATH = f"{ROOT}/deliverability"
WINDOW = {"from": "2026-11-19T11:00", "to": "2026-11-19T13:00"}
SHOP = {"target_link_name": "Shop", "target_link_url": "https://b.test"}
RAW = {"target_link_name": "Raw URL", "target_link_url": "https://a.test"}


@pytest.fixture(scope="module")
def client(local_cloud: None) -> Client:
    """Account 1 with some mail at noon."""
    make_account(1)
    spring = [mail(1, n, campaign="spring", domain="gmail.com", template="t1") for n in range(3)]
    sub = mail(1, 3, campaign="autumn", domain="x.test", subaccount=7)
    failed = mail(1, 4, domain="x.test", generated=False)
    bounced = {"bounce_class": "10", "reason": "550 5.1.1 no such user", "num_retries": "0"}
    record(
        [
            *(message.event("injection", NOON) for message in [*spring, sub]),
            *(message.event("delivery", NOON, num_retries="0") for message in spring[:2]),
            spring[2].event("delay", NOON, num_retries="0", reason="452 later", bounce_class="22"),
            spring[2].event("delivery", NOON + 60_000, num_retries="3", sending_ip="192.0.2.1"),
            sub.event("bounce", NOON, **bounced),
            spring[0].event("out_of_band", NOON, **bounced | {"bounce_class": "51"}),
            failed.event("generation_failure", NOON, reason="554 5.3.3 bad template"),
            failed.event("policy_rejection", NOON, reason="550 not yours"),
            failed.event("generation_rejection", NOON, reason="550 not yours"),
            spring[0].event("click", NOON, "a", **SHOP),
            spring[0].event("click", NOON, "b", **SHOP),
            spring[1].event("click", NOON, "c", **RAW),
            spring[0].event("inbox_seed", NOON),
        ]
    )
    roll_up_pending()
    return make_key(1)


@pytest.fixture(autouse=True)
def _now() -> Iterator[None]:
    with clock.use(lambda: NOON / 1000 + 3600):
        yield


def ask(client: Client, path: str, metrics: str = "", **query: str) -> Response:
    parameters = WINDOW | ({"metrics": metrics} if metrics else {}) | query
    return client.get(f"{path}?{urlencode(parameters)}")


def results(client: Client, path: str, metrics: str = "", **query: str) -> Any:
    return ask(client, f"{PATH}{path}", metrics, **query).results


@pytest.mark.spec("4.11-t11")
@pytest.mark.spec("1-r1")
def test_the_root_links_to_the_resources_below_it(client: Client) -> None:
    for path in (ROOT, f"{ROOT}/"):
        response = client.get(path)
        assert response.results == {}
        root, *children = response.body["links"]
        assert root == {"href": ROOT, "rel": "", "method": "GET"}
        names = [child["rel"] for child in children]
        assert set(names) >= {
            "campaigns",
            "deliverability",
            "domains",
            "ip-pools",
            "mailbox-provider-regions",
            "mailbox-providers",
            "sending-ips",
            "subject-campaigns",
        }
        for child in children:
            assert child == {"href": f"{ROOT}/{child['rel']}", "rel": child["rel"], "method": "GET"}


def test_every_link_can_be_followed(client: Client) -> None:
    links = [*client.get(ROOT).body["links"][1:], *ask(client, PATH, "count_sent").body["links"]]
    assert len(links) > 25
    for link in links:
        for metrics in ("count_delivered", "count_bounce", "count_clicked", "count_inbox_seed"):
            response = ask(client, link["href"], metrics)
            if response.status == 200:
                break
        assert response.status == 200, link


@pytest.mark.spec("4.11-t12")
@pytest.mark.spec("4.11-t7")
def test_a_summary_is_one_object_with_the_requested_metrics(client: Client) -> None:
    metrics = "count_targeted,count_injected,count_rejected,count_accepted,count_inbox_seed"
    assert results(client, "", metrics) == [
        {
            "count_targeted": 7,
            "count_injected": 4,
            "count_rejected": 3,
            "count_accepted": 2,
            "count_inbox_seed": 1,
        }
    ]


@pytest.mark.spec("4.11-t7")
def test_all_metrics_may_be_requested_at_once(client: Client) -> None:
    (summary,) = results(client, "", ",".join(sorted(METRICS)))
    assert set(summary) == METRICS
    placements = {f"count_{name}": summary[f"count_{name}"] for name in PLACEMENTS}
    assert {name for name, number in placements.items() if number} == {"count_inbox_seed"}


@pytest.mark.spec("4.11-t13")
@pytest.mark.spec("4.11-t10")
def test_the_rows_of_domains_are_sorted_and_limited(client: Client) -> None:
    rows = results(client, "/domain", "count_injected,count_bounce")
    gmail = {"domain": "gmail.com", "count_injected": 3, "count_bounce": 1}
    other = {"domain": "x.test", "count_injected": 1, "count_bounce": 1}
    assert rows == [gmail, other]
    by_rejected = results(
        client, "/domain", "count_injected,count_rejected", order_by="count_rejected"
    )
    assert [row["domain"] for row in by_rejected] == ["x.test", "gmail.com"]
    assert results(client, "/domain", "count_injected,count_bounce", limit="1") == [gmail]


@pytest.mark.parametrize(
    ("path", "key", "values"),
    [
        ("campaign", "campaign_id", ["spring", "autumn"]),
        ("template", "template_id", ["t1"]),
        ("sending-ip", "sending_ip", ["192.0.2.1"]),
        ("ip-pool", "ip_pool", ["default"]),
        ("sending-domain", "sending_domain", ["s.test"]),
        ("subaccount", "subaccount_id", [0, 7]),
        ("mailbox-provider", "mailbox_provider", ["Gmail"]),
        ("mailbox-provider-region", "mailbox_provider_region", ["Global"]),
        ("watched-domain", "watched_domain", ["gmail.com"]),
    ],
)
def test_every_dimension_has_a_report(
    client: Client, path: str, key: str, values: list[object]
) -> None:
    rows = results(client, f"/{path}", "count_injected")
    assert [row[key] for row in rows] == values
    assert all(set(row) == {key, "count_injected"} for row in rows)


@pytest.mark.spec("4.11-t5")
def test_subjects_have_the_add_on_metrics_only(client: Client) -> None:
    (row,) = results(client, "/subject-campaign", "count_inbox_seed")
    assert row == {"subject_campaign": "Subject 0", "count_inbox_seed": 1}
    assert results(client, "", "count_inbox_seed", subject_campaigns="Subject 0,x") == [
        {"count_inbox_seed": 1}
    ]
    assert ask(client, f"{PATH}/subject-campaign", "count_injected").status == 400


@pytest.mark.spec("4.11-t5")
@pytest.mark.parametrize(
    ("path", "metrics"),
    [
        ("", "count_inbox_seed,count_injected"),
        ("/domain", "count_sent"),
        ("/time-series", "count_sent"),
        ("/rejection-reason", ""),
        ("/delay-reason/domain", ""),
        ("/bounce-reason", "count_bounce"),
        ("/bounce-classification", "count_bounce"),
        ("/link-name", "count_clicked"),
        ("/attempt", "count_delivered"),
        ("/watched-domain", "count_sent"),
    ],
)
def test_a_filter_by_subject_is_refused_with_metrics_that_are_not_counted_by_subject(
    client: Client, path: str, metrics: str
) -> None:
    simple = ask(client, PATH + path, metrics, subject_campaigns="Subject 0")
    assert (simple.status, simple.error["param"]) == (400, "subject_campaigns")
    assert "supports only count_inbox_panel, " in simple.error["description"]
    for operator in ("AND", "OR"):
        group = {operator: {"subject_campaigns": {"notEq": ["x"]}, "domains": {"eq": ["x.test"]}}}
        filters = json.dumps({"groupings": [group]})
        advanced = ask(client, PATH + path, metrics, query_filters=filters)
        assert (advanced.status, advanced.error["param"]) == (400, "query_filters")
        (violation,) = advanced.body["validationErrors"]
        assert violation["message"].startswith("subject_campaigns supports only count_inbox_panel")


@pytest.mark.spec("4.11-t14")
@pytest.mark.spec("4.11-t6")
def test_a_time_series_has_every_bucket_with_its_time(client: Client) -> None:
    rows = results(client, "/time-series", "count_injected,count_delivered", precision="hour")
    assert rows == [
        {"count_injected": 0, "count_delivered": 0, "ts": "2026-11-19T11:00:00+00:00"},
        {"count_injected": 4, "count_delivered": 3, "ts": "2026-11-19T12:00:00+00:00"},
    ]
    local = results(
        client,
        "/time-series",
        "count_injected",
        precision="12hr",
        timezone="Asia/Kathmandu",
        **{"from": "2026-11-19T10:00", "to": "2026-11-19T18:00"},
    )
    assert [(row["ts"], row["count_injected"]) for row in local] == [
        ("2026-11-19T00:00:00+05:45", 0),
        ("2026-11-19T12:00:00+05:45", 4),
    ]
    monthly = results(client, "/time-series", "count_injected", precision="month")
    assert monthly == [{"count_injected": 4, "ts": "2026-11-01T00:00:00+00:00"}]
    weekly = results(client, "/time-series", "count_injected", precision="week")
    assert weekly == [{"count_injected": 4, "ts": "2026-11-16T00:00:00+00:00"}]


def test_leading_zeros_of_a_subaccount_do_not_count(client: Client) -> None:
    assert results(client, "", "count_injected", subaccounts="007") == [{"count_injected": 1}]


def test_a_time_series_is_limited_and_ordered_on_demand(client: Client) -> None:
    metrics = "count_delivered,count_injected"

    def hours(**query: str) -> list[str]:
        day = {"from": "2026-11-19T10:00", "precision": "hour"}
        return [row["ts"][11:13] for row in results(client, "/time-series", metrics, **day | query)]

    assert hours() == ["10", "11", "12"]
    assert hours(limit="2") == ["10", "11"]
    assert hours(order_by="count_injected") == ["12", "10", "11"]
    assert hours(order_by="count_injected", limit="1") == ["12"]
    minutes = {"from": "2026-11-18T14:00", "to": "2026-11-19T14:00", "precision": "1min"}
    assert len(results(client, "/time-series", metrics, **minutes)) == 1440


@pytest.mark.parametrize("query", [{"limit": "0"}, {"order_by": "count_bounce"}])
def test_a_summary_has_no_rows_to_limit_or_order(client: Client, query: dict[str, str]) -> None:
    assert results(client, "", "count_injected", **query) == [{"count_injected": 4}]
    for path in ("/time-series", "/attempt", "/domain"):
        assert ask(client, f"{PATH}{path}", "count_delivered", **query).status == 400


@pytest.mark.spec("4.11-t15")
@pytest.mark.spec("4.11-t16")
def test_bounces_are_reported_by_reason(client: Client) -> None:
    metrics = "count_bounce,count_inband_bounce,count_outofband_bounce,count_admin_bounce"
    rows = results(client, "/bounce-reason", metrics)
    assert [row["classification_id"] for row in rows] == [10, 51]
    assert rows[0] == {
        "reason": "550 5.1.1 no such user",
        "bounce_class_name": "Invalid Recipient",
        "bounce_class_description": rows[0]["bounce_class_description"],
        "bounce_category_id": 1,
        "bounce_category_name": "Hard",
        "classification_id": 10,
        "count_bounce": 1,
        "count_inband_bounce": 1,
        "count_outofband_bounce": 0,
        "count_admin_bounce": 0,
    }
    assert results(client, "/bounce-reason", "count_admin_bounce") == []
    by_domain = results(client, "/bounce-reason/domain", metrics)
    assert [row["domain"] for row in by_domain] == ["x.test", "gmail.com"] or [
        row["domain"] for row in by_domain
    ] == ["gmail.com", "x.test"]


@pytest.mark.spec("4.11-t17")
def test_bounces_are_reported_by_class(client: Client) -> None:
    rows = results(client, "/bounce-classification", "count_bounce")
    assert [(row["bounce_class_name"], row["bounce_category_name"]) for row in rows] == [
        ("Invalid Recipient", "Hard"),
        ("Spam Block", "Block"),
    ]
    assert [row["count_bounce"] for row in rows] == [1, 1]
    assert "reason" not in rows[0]


@pytest.mark.spec("4.11-t18")
@pytest.mark.spec("4.11-t19")
def test_the_report_of_rejections_by_reason_needs_no_metrics(client: Client) -> None:
    rows = results(client, "/rejection-reason")
    assert {(r["reason"], r["rejection_category_id"], r["rejection_type"]) for r in rows} == {
        ("550 not yours", 1, "Policy Rejection"),
        ("550 not yours", 2, "Generation Rejection"),
        ("554 5.3.3 bad template", 3, "Generation Failure"),
    }
    assert {row["count_rejected"] for row in rows} == {1}
    assert {row["domain"] for row in results(client, "/rejection-reason/domain")} == {"x.test"}


@pytest.mark.spec("4.11-t20")
@pytest.mark.spec("4.11-t21")
def test_the_report_of_delays_by_reason_needs_no_metrics(client: Client) -> None:
    row = {"reason": "452 later", "count_delayed": 1, "count_delayed_first": 1}
    assert results(client, "/delay-reason") == [row]
    assert results(client, "/delay-reason/domain") == [row | {"domain": "gmail.com"}]


@pytest.mark.spec("4.11-t22")
def test_clicks_are_reported_by_link_name(client: Client) -> None:
    rows = results(client, "/link-name", "count_clicked,count_raw_clicked")
    assert rows == [
        {"link_name": "Shop", "count_clicked": 2, "count_raw_clicked": 1},
        {"link_name": "Raw URL", "count_clicked": 1, "count_raw_clicked": 1},
    ]
    assert results(client, "/link-name", "count_clicked", campaigns="autumn") == []


def test_deliveries_are_reported_by_attempt(client: Client) -> None:
    assert results(client, "/attempt", "count_delivered") == [
        {"attempt": "1", "count_delivered": 2},
        {"attempt": "3+", "count_delivered": 1},
    ]
    assert results(client, "/attempt", "count_delivered", limit="1") == [
        {"attempt": "1", "count_delivered": 2}
    ]


@pytest.mark.spec("4.11-t23")
def test_the_published_schema_of_filters_is_the_one_that_checks_them(client: Client) -> None:
    schema = client.get(f"{PATH}/query-filters-schema").results
    assert schema == SCHEMA
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"


@pytest.mark.spec("4.11-r6")
@pytest.mark.spec("4.11-t4")
def test_advanced_filters_replace_simple_filters_but_not_the_window(client: Client) -> None:
    filters = json.dumps({"groupings": [{"AND": {"campaigns": {"eq": ["spring"]}}}]})
    rows = results(client, "", "count_injected", query_filters=filters, campaigns="autumn")
    assert rows == [{"count_injected": 3}]
    rows = results(
        client, "", "count_injected", query_filters=filters, **{"from": "2026-11-19T12:30"}
    )
    assert rows == [{"count_injected": 0}]
    response = ask(client, PATH, "count_injected", query_filters="{}")
    assert response.status == 400
    assert response.body["validationErrors"]


@pytest.mark.parametrize("path", ["", "/domain", "/time-series", "/bounce-reason", "/link-name"])
def test_filters_may_contain_any_text(client: Client, path: str) -> None:
    texts = ["half a pair: \ud800", "\0", "a\nb", "x" * 2000, ""]
    metrics = {"/bounce-reason": "count_bounce", "/link-name": "count_clicked"}
    for comparator in ("eq", "notEq"):
        group = {"AND": {"campaigns": {comparator: texts}}}
        filters = json.dumps({"groupings": [group]})
        response = ask(
            client, f"{PATH}{path}", metrics.get(path, "count_sent"), query_filters=filters
        )
        assert response.status == 200


@pytest.mark.spec("4.11-t5")
@pytest.mark.spec("4.11-t3")
def test_subaccount_0_is_the_primary_account(client: Client) -> None:
    assert results(client, "", "count_injected", subaccounts="0") == [{"count_injected": 3}]
    assert results(client, "", "count_injected", subaccounts="0|7", delimiter="|") == [
        {"count_injected": 4}
    ]


@pytest.mark.spec("5-r6")
def test_a_user_of_a_subaccount_gets_the_lists_of_its_mail_only(client: Client) -> None:
    own = sign_in(make_user(1, role="reporting", subaccount_id=7))
    for name, all_values, own_values in (
        ("campaigns", ["autumn", "spring"], ["autumn"]),
        ("domains", ["gmail.com", "x.test"], ["x.test"]),
        ("templates", ["t1"], []),
    ):
        path = f"{ROOT}/{name}?{urlencode(WINDOW)}"
        assert client.get(path).results == {name: all_values}
        assert own.get(path).results == {name: own_values}
        assert own.get(f"{path}&match=none").results == {name: []}


@pytest.mark.parametrize("text", ["0", "7", "99", "nonsense", ""])
def test_the_subaccount_header_is_not_used(client: Client, text: str) -> None:
    response = ask(client.on_behalf_of(text), PATH, "count_injected")
    assert response.results == [{"count_injected": 4}]
    assert client.on_behalf_of(text).get(ROOT).status == 200
    lists = [each["href"] for each in client.get(ROOT).body["links"][1:]]
    assert {ask(client.on_behalf_of(text), each, "count_sent").status for each in lists} == {200}


def test_metrics_may_be_separated_by_another_delimiter(client: Client) -> None:
    rows = results(client, "", "count_injected;count_sent", delimiter=";")
    assert rows == [{"count_injected": 4, "count_sent": 4}]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("campaigns", ["autumn", "spring"]),
        ("domains", ["gmail.com", "x.test"]),
        ("templates", ["t1"]),
        ("sending-domains", ["s.test"]),
        ("ip-pools", ["default"]),
        ("sending-ips", ["192.0.2.1"]),
        ("mailbox-providers", ["Gmail"]),
        ("mailbox-provider-regions", ["Global"]),
        ("subject-campaigns", ["Subject 0"]),
    ],
)
def test_the_values_of_each_dimension_are_listed(
    client: Client, path: str, values: list[str]
) -> None:
    assert ask(client, f"{ROOT}/{path}").results == {path: values}
    assert ask(client, f"{ROOT}/{path}", match=values[-1][1:4]).results == {path: values[-1:]}
    assert ask(client, f"{ROOT}/{path}", match="unheard of").results == {path: []}
    assert ask(client, f"{ROOT}/{path}", limit="1").results == {path: values[:1]}
    before = {"from": "2026-11-01T00:00", "to": "2026-11-02T00:00"}
    assert ask(client, f"{ROOT}/{path}", **before).results == {path: []}


def test_listed_host_names_match_in_any_case(client: Client) -> None:
    assert ask(client, f"{ROOT}/domains", match="GMAIL").results == {"domains": ["gmail.com"]}
    assert ask(client, f"{ROOT}/campaigns", match="SPRING").results == {"campaigns": []}


@pytest.mark.parametrize(
    "path", ["", "/domain", "/time-series", "/bounce-reason", "/link-name", "/attempt"]
)
@pytest.mark.spec("4.11-t7")
@pytest.mark.spec("4.11-t1")
def test_a_request_without_metrics_is_refused(client: Client, path: str) -> None:
    response = ask(client, f"{PATH}{path}")
    assert (response.status, response.error["code"]) == (400, "1401")
    assert response.error["param"] == "metrics"
    response = client.get(f"{PATH}{path}?metrics=count_delivered,count_bounce,count_clicked")
    assert response.status == 400


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", {"metrics": "count_unheard_of"}),
        ("", {"metrics": "count_raw_clicked"}),
        ("/bounce-reason", {"metrics": "count_injected"}),
        ("/link-name", {"metrics": "count_bounce"}),
        ("/attempt", {"metrics": "count_injected"}),
        ("/domain", {"metrics": "count_sent", "limit": "0"}),
        ("/domain", {"metrics": "count_sent", "limit": "10001"}),
        ("/domain", {"metrics": "count_sent", "limit": "all"}),
        ("/domain", {"metrics": "count_sent", "order_by": "count_bounce"}),
        ("/domain", {"metrics": "count_sent", "precision": "12hr"}),
        ("/domain", {"metrics": "count_sent", "timezone": "Nowhere"}),
        ("/domain", {"metrics": "count_sent", "subaccounts": "x"}),
        ("/domain", {"metrics": "count_sent", "subaccounts": "0,\u0663"}),
        ("/domain", {"metrics": "count_sent", "subaccounts": "1" * 11}),
    ],
)
@pytest.mark.spec("4.11-t9")
@pytest.mark.spec("4.11-t10")
@pytest.mark.spec("8-t13")
def test_an_invalid_parameter_is_refused(client: Client, path: str, query: dict[str, str]) -> None:
    response = ask(client, f"{PATH}{path}", **query)
    assert (response.status, response.error["code"]) == (400, "1200")


@pytest.mark.spec("4.11-t9")
def test_reports_by_reason_accept_a_limit_of_1_to_10000(client: Client) -> None:
    for path in ("/rejection-reason", "/delay-reason", "/rejection-reason/domain"):
        assert len(results(client, path, limit="1")) == 1
        assert ask(client, f"{PATH}{path}", limit="10000").status == 200
        assert ask(client, f"{PATH}{path}", limit="10001").status == 400


def test_another_account_sees_none_of_the_mail(client: Client) -> None:
    make_account(2)
    other = make_key(2)
    assert results(other, "", "count_injected") == [{"count_injected": 0}]
    assert results(other, "/domain", "count_injected") == []
    assert ask(other, f"{ROOT}/campaigns").results == {"campaigns": []}
