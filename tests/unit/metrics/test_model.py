from __future__ import annotations

import pytest

from chalicelib.metrics.model import (
    DIMENSIONS,
    LISTED,
    METRICS,
    POSITION,
    add,
    metric,
    values_of,
)
from tests.unit.metrics.examples import mail

VOCABULARY = """
count_targeted count_injected count_sent count_accepted count_delivered count_delivered_first
count_delivered_subsequent count_rendered count_nonprefetched_rendered count_initial_rendered
count_nonprefetched_initial_rendered count_unique_rendered count_nonprefetched_unique_rendered
count_unique_initial_rendered count_nonprefetched_unique_initial_rendered
count_unique_confirmed_opened count_nonprefetched_unique_confirmed_opened count_clicked
count_unique_clicked count_unsubscribe count_bounce count_hard_bounce count_soft_bounce
count_block_bounce count_admin_bounce count_undetermined_bounce count_inband_bounce
count_outofband_bounce count_rejected count_policy_rejection count_generation_failed
count_generation_rejection count_delayed count_delayed_first total_msg_volume
total_delivery_time_first total_delivery_time_subsequent count_spam_complaint count_inbox_panel
count_spam_panel count_inbox_seed count_spam_seed count_inbox_seed_private count_spam_seed_private
count_inbox_seed_virtual count_spam_seed_virtual count_moved_to_inbox count_moved_to_spam
"""


@pytest.mark.spec("4.11-t7")
def test_exactly_the_metrics_of_the_vocabulary_exist() -> None:
    assert set(VOCABULARY.split()) == METRICS


def test_a_metric_without_counts_is_0() -> None:
    assert {metric(name, {}) for name in METRICS} == {0}


def test_metrics_are_sums_of_counts() -> None:
    counts = {"i": 10, "pr": 1, "gf": 2, "gr": 3, "d": 6, "d1": 4, "b": 2, "ob": 1, "c": 5, "ac": 1}
    assert metric("count_targeted", counts) == 16
    assert metric("count_rejected", counts) == 6
    assert metric("count_sent", counts) == 8
    assert metric("count_accepted", counts) == 5
    assert metric("count_delivered_subsequent", counts) == 2
    assert metric("count_bounce", counts) == 3
    assert metric("count_clicked", counts) == 6


def test_adding_counts_adds_up_each_of_them() -> None:
    counts = {"i": 1, "d": 2}
    add(counts, {"d": 3, "o": 4})
    assert counts == {"i": 1, "d": 5, "o": 4}


def test_an_event_has_the_dimension_values_of_its_message() -> None:
    base = mail(1, subaccount=7, campaign="spring", domain="gmail.com", template="t1").base
    values = values_of({**base, "type": "delivery", "sending_ip": "192.0.2.1"})
    assert dict(zip((each.filter_key for each in DIMENSIONS), values, strict=True)) == {
        "domains": "gmail.com",
        "campaigns": "spring",
        "templates": "t1",
        "sending_ips": "192.0.2.1",
        "ip_pools": "default",
        "sending_domains": "s.test",
        "subaccounts": "7",
        "mailbox_providers": "Gmail",
        "mailbox_provider_regions": "Global",
        "subject_campaigns": "",
    }


def test_the_primary_account_is_subaccount_0() -> None:
    position = POSITION["subaccount"]
    assert values_of({"type": "delivery"})[position] == "0"
    assert values_of({"type": "delivery", "subaccount_id": "not a number"})[position] == "0"


def test_only_placements_are_counted_by_subject() -> None:
    position = POSITION["subject-campaign"]
    assert values_of({"type": "open", "subject": "News"})[position] == ""
    assert values_of({"type": "inbox_seed", "subject": "News"})[position] == "News"


def test_the_values_of_every_dimension_except_subaccounts_are_listed() -> None:
    assert [each.list_path for each in LISTED] == [
        "domains",
        "campaigns",
        "templates",
        "sending-ips",
        "ip-pools",
        "sending-domains",
        "mailbox-providers",
        "mailbox-provider-regions",
        "subject-campaigns",
    ]


def test_host_names_are_counted_in_lower_case() -> None:
    event = {"type": "open", "sending_domain": "News.Example.TEST", "campaign_id": "Spring"}
    values = values_of(event)
    assert values[POSITION["sending-domain"]] == "news.example.test"
    assert values[POSITION["campaign"]] == "Spring"


def test_a_value_is_cut_to_256_characters() -> None:
    assert values_of({"type": "open", "campaign_id": "c" * 10_000})[1] == "c" * 256
