from __future__ import annotations

import josepy
import pytest
import requests
from acme import challenges, errors, messages

from infrastructure.machine.certificates.acme_errors import failure_of

PROBLEM = {"type": "urn:ietf:params:acme:error:dns", "detail": "no A record\nfor a.test"}


def problem(code: str, detail: str = "detail") -> messages.Error:
    return messages.Error.with_code(code, detail=detail)


def text_of(error: Exception) -> str:
    return failure_of(error, None, is_general=False).text


def test_a_refused_challenge_is_told_in_the_authoritys_words() -> None:
    challenge = messages.ChallengeBody(
        chall=challenges.HTTP01(token=b"t" * 32),
        uri="https://a.test/1",
        error=messages.Error.from_json(PROBLEM),
    )
    authorization = messages.AuthorizationResource(
        uri="https://a.test/2",
        body=messages.Authorization(
            identifier=messages.Identifier(typ=messages.IDENTIFIER_FQDN, value="a.test"),
            challenges=(challenge,),
        ),
    )
    failure = failure_of(errors.ValidationError([authorization]), None, is_general=False)
    assert failure.text == "a.test: dns: no A record for a.test"
    assert not failure.is_general
    assert not failure.is_limit


def test_problems_of_single_names_are_told() -> None:
    identifier = {"type": "dns", "value": "b.test"}
    error = messages.Error.from_json(
        {
            "type": "urn:ietf:params:acme:error:rejectedIdentifier",
            "detail": "one name",
            "subproblems": [PROBLEM | {"identifier": identifier}],
        }
    )
    text = "rejectedIdentifier: one name (b.test: dns: no A record for a.test)"
    assert text_of(error) == text
    assert text_of(errors.IssuanceError(error)) == text


def test_a_limit_is_known_by_its_code_or_by_the_time_to_wait() -> None:
    assert failure_of(problem("rateLimited"), None, is_general=False).is_limit
    failure = failure_of(problem("serverInternal"), 90.0, is_general=False)
    assert (failure.is_limit, failure.is_general, failure.retry_after) == (True, True, 90.0)
    assert not failure_of(problem("caa"), None, is_general=False).is_limit


def response(status: int) -> requests.Response:
    answer = requests.Response()
    answer.status_code, answer.reason, answer.url = status, "Bad Gateway", "https://a.test/"
    return answer


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (requests.ConnectionError("refused"), "ConnectionError: refused"),
        (errors.ClientError(response(502)), "HTTP 502 Bad Gateway from https://a.test/"),
        (
            errors.ClientError((response(502), ValueError("x"))),
            "HTTP 502 Bad Gateway from https://a.test/",
        ),
        (errors.ClientError('"up" Link header missing'), '"up" Link header missing'),
        (josepy.errors.DeserializationError("no status"), "DeserializationError"),
        (KeyError("newOrder"), "KeyError: 'newOrder'"),
    ],
)
def test_what_is_no_answer_of_an_authority_concerns_everyone(error: Exception, text: str) -> None:
    failure = failure_of(error, None, is_general=False)
    assert failure.is_general
    assert failure.text.startswith(text)


def test_an_authority_that_does_not_decide_concerns_one_name() -> None:
    failure = failure_of(errors.TimeoutError(), None, is_general=False)
    assert failure.text == "the authority did not decide in time"
    assert not failure.is_general


def test_an_error_before_anything_was_ordered_concerns_everyone() -> None:
    assert failure_of(problem("invalidContact"), None, is_general=True).is_general


def test_a_long_answer_is_cut() -> None:
    assert len(text_of(problem("caa", "x" * 10_000))) == 1000
