"""The interval of an A/B test's rate is Wilson's, which holds for few messages too."""

from __future__ import annotations

import pytest

from tests.browser.console import Console

_WILSON = """async (counts) => {
  const { wilson } = await import(new URL("core/ab-tests.js", location.href.split("#")[0]));
  return wilson(...counts);
}"""


@pytest.mark.parametrize(
    ("engaged", "accepted", "interval"),
    [(3, 3, [0.4385, 1]), (1, 10, [0.0179, 0.4042]), (0, 10, [0, 0.2775])],
)
def test_the_interval_of_a_rate_is_wilsons(
    engaged: int, accepted: int, interval: list[float], console: Console
) -> None:
    bounds = console.page.evaluate(_WILSON, [engaged, accepted])
    assert bounds == pytest.approx(interval, abs=1e-4)


def test_a_rate_of_no_messages_has_no_interval(console: Console) -> None:
    assert console.page.evaluate(_WILSON, [0, 0]) is None
