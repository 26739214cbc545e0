from __future__ import annotations

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.transmissions.list_id import check_list_id, header_of


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize("list_id", ["a", "news", "news.example", "a-b_c.1.2", "x" * 255])
def test_a_list_id_is_taken(list_id: str) -> None:
    check_list_id(list_id)


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize(
    "list_id",
    ["", ".a", "a.", "a..b", "a b", "<a>", "é", "a\r\nBcc: x", "a\n", "a,b", "x" * 256],
)
def test_what_is_no_list_id_is_refused(list_id: str) -> None:
    with pytest.raises(ServiceError) as refused:
        check_list_id(list_id)
    assert (refused.value.status, refused.value.errors[0]["code"]) == (422, "1300")
    assert "override.list_id" in refused.value.errors[0]["description"]


def test_the_header_holds_it_in_angle_brackets() -> None:
    assert header_of("news.example") == ("List-Id", "<news.example>")
