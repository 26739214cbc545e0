from __future__ import annotations

import base64

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.transmissions.request import AttachmentField, InlineImageField, check_files

DATA = base64.b64encode(b"bytes").decode()


def file(name: str = "a.pdf", kind: str = "application/pdf", data: str = DATA) -> AttachmentField:
    return AttachmentField(name=name, type=kind, data=data)


def image(name: str = "logo", kind: str = "image/png", data: str = DATA) -> InlineImageField:
    return InlineImageField(name=name, type=kind, data=data)


def code(*attachments: AttachmentField, images: tuple[InlineImageField, ...] = ()) -> str:
    with pytest.raises(ServiceError) as refusal:
        check_files(attachments, images)
    assert refusal.value.status == 422
    return refusal.value.errors[0]["code"]


def test_files_that_can_be_attached_are_accepted() -> None:
    check_files([], [])
    check_files([file(), file()], [image("a"), image("b")])


@pytest.mark.spec("8-t5")
@pytest.mark.spec("2.2-t8")
@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_a_name_has_at_most_255_bytes(letter: str) -> None:
    count, rest = divmod(255, len(letter.encode()))
    longest = letter * count + "x" * rest
    check_files([file(longest)], [image(longest)])
    assert code(file(longest + "x")) == "1300"
    assert code(images=(image(longest + "x"),)) == "1300"


@pytest.mark.spec("2.2-t9")
def test_the_names_of_inline_images_are_unique() -> None:
    assert code(images=(image("a"), image("b"), image("a"))) == "1300"


@pytest.mark.spec("2.2-t8")
@pytest.mark.parametrize("data", ["?", DATA + "\r\n", "AAA", "Ynl0ZXM=\n", "é"])
def test_data_is_base64_without_line_ends(data: str) -> None:
    assert code(file(data=data)) == "3010"
    assert code(images=(image(data=data),)) == "3010"


@pytest.mark.parametrize("kind", ["", "text/plain\r\nX-Evil: 1", "a\0b", "é/plain"])
def test_a_type_that_no_header_can_hold_is_refused(kind: str) -> None:
    assert code(file(kind=kind)) == "3010"
    assert code(images=(image(kind=kind),)) == "3010"


@pytest.mark.parametrize("name", ["", "a\r\nb", "a\0b"])
def test_a_name_that_no_header_can_hold_is_refused(name: str) -> None:
    assert code(file(name)) == "3010"


def test_an_image_name_that_cannot_be_a_content_id_is_refused() -> None:
    assert code(images=(image("<logo>"),)) == "3010"
