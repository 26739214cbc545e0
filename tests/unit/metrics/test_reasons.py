"""Reasons are counted without addresses, ids, numbers and times."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.metrics.reasons import canonical_reason
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    ("reason", "canonical"),
    [
        ("550 5.1.1 user unknown", "550 5.1.1 user unknown"),
        ("550 5.1.1 <Ann.Lee+x@mail.example.com>: no such user", "550 5.1.1 <*>: no such user"),
        ("550 a@b\u00fccher.test, b@bu\u0308cher.test: no", "550 *, *: no"),
        ('550 "ann lee"@x.test and ann@[192.0.2.1] and a@@x.test', "550 * and * and *"),
        ("550 RCPT TO:ann@x.test. See https://x.test/?r=ann%40x.test", "550 RCPT TO:* See https:*"),
        (f"550 {'x' * 200}@x.test unknown", "550 * unknown"),
        ("452 4.2.2 mailbox\r\n  full", "452 4.2.2 mailbox full"),
        (
            "554 see https://example.com/help/unsolicited",
            "554 see https://example.com/help/unsolicited",
        ),
        ("", ""),
    ],
)
def test_addresses_are_left_out(reason: str, canonical: str) -> None:
    assert canonical_reason(reason) == canonical


@pytest.mark.parametrize(
    ("reason", "canonical"),
    [
        ("451 4.7.1 Greylisted [192.0.2.1], try later", "451 4.7.1 Greylisted [*], try later"),
        ("554 [192.0.2.1]:41234 and 192.0.2.1:25 and 192.0.2.1.", "554 [*]:* and * and *."),
        ("554 IPv6:2001:db8::1, [2001:DB8:0:1::192.0.2.1] and ::1", "554 IPv6:*, [*] and *"),
        (
            "554 http://bl.test/?ip=192.0.2.1 host-192-0-2-1.isp.test",
            "554 http://bl.test/?ip=* host-*.isp.test",
        ),
        ("554 5.7.1 Std::map of version 1.2.3.4.5", "554 5.7.1 Std::map of version 1.2.3.4.5"),
    ],
)
def test_ip_addresses_are_left_out(reason: str, canonical: str) -> None:
    assert canonical_reason(reason) == canonical


IDS = """
4XyZ12abC1 4Zc7Wq0Yx1z3nBk 3A1F22C0D4 9f8e7d6c x5AKJ2Zq012345 38206
1hXzY4-0004Bc-Qw 1hXzYa-abcdBc-Qw h4-20020a056402124400b0045bd8beb4casi1234edw.90
a1si1234 nm1si77 oP3xM7cCOSOKfTpAWg2wUA.uk303 0000018e-5b2c-7f00-a1d2-3e4f5a6b7c8d
BN8NAM12FT035.eop-nam12.prod.protection.outlook.com p3plibsmtp02 0x1A2B3C4D5E
"""
CODES = """
5.7.606 S3150 OU-002 BL000001 AUP#I-1310 OFR_417 IB607 [TSS04] RFC2821 5322 IPv4 TLSv1.3 SHA256
Win32.Worm (HVU:B1) (#5.1.1) 554rtrbl OAuth2 [#102] 25 STOREDRV.Deliver 5322.From
"""
TIMES = """
00:05:00|21:33|21:33:01.123|2026-11-26|2026-11-26 21:33|2026/11/26|2026-11-26T21:33:01.123Z
2026-11-26T21:33:01+01:00|Thu, 26 Nov 2026 21:33:01 +0000|26-Nov-2026|26 November 2026
Thu Nov 26 21:33:01 2026|Nov 26 21:33:01
"""


@pytest.mark.parametrize("identifier", IDS.split())
def test_ids_are_left_out(identifier: str) -> None:
    for text in ("550 no {} - gsmtp", "550 no (queue id {})", "550 no [{}].", "550 no; id={}"):
        assert canonical_reason(text.format(identifier)) == text.format("*")


@pytest.mark.parametrize("text", CODES.split())
def test_words_and_codes_stay(text: str) -> None:
    assert canonical_reason(f"550 {text} no") == f"550 {text} no"


@pytest.mark.parametrize("time", TIMES.strip().replace("\n", "|").split("|"))
def test_times_are_left_out(time: str) -> None:
    for text in ("451 Try again at {} please", "451 [{}] try later", "451 later ({})."):
        assert canonical_reason(text.format(time)) == text.format("*")


@pytest.mark.parametrize("text", ["{} seconds", "{}s", "{} minutes and {} secs", "{}h {}min"])
def test_waits_are_left_out(text: str) -> None:
    expected = f"451 Greylisted for {text.replace('{}', '*')}"
    assert canonical_reason("451 Greylisted for " + text.replace("{}", "287")) == expected


def test_a_reason_has_at_most_250_characters() -> None:
    assert canonical_reason("550 " + "very " * 1000) == ("550 " + "very " * 100)[:250]


@example("0::@")
@given(st.text(st.sampled_from('a1Z@.:-%40 <>[]"(Jan2026\u0663\u0308'), max_size=400) | st.text())
def test_canonicalizing_a_reason_twice_changes_nothing(text: str) -> None:
    canonical = canonical_reason(text)
    assert len(canonical) <= 250
    assert canonical_reason(canonical) == canonical


PIECES = [*'a@:"', "a@", "1.", "1-", "1:", "%40", '"a', "a-", "Jan ", "2026-", "1 s ", "1a", "[@["]
PIECES += ["Thu, ", "0123456789abcdef", "26 Nov ", "a%"]


@pytest.mark.parametrize("piece", PIECES)
def test_reading_takes_linear_time(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.metrics.reasons.LONGEST_REASON", 50_000)
    assert_linear(canonical_reason, piece * (100_000 // len(piece)))
