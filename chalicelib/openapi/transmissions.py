"""Describe ``/transmissions`` (spec 4.1)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    query,
    results,
    with_header,
)
from chalicelib.openapi.recipients import (
    ACCEPTED_COUNTS,
    ENTERPRISE_ONLY,
    NUM_RCPT_ERRORS,
    RECIPIENTS,
    WITH_ERRORS,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    either,
    flag,
    integer,
    mapping,
    moment,
    nullable,
    obj,
    of_model,
    one_of,
    record,
    text,
)
from chalicelib.recipient_lists.limits import METADATA_BYTES, SUBSTITUTION_BYTES
from chalicelib.transmissions.content_view import SOURCES
from chalicelib.transmissions.model import CANCELLED, GENERATING, MOST_LISTED, SUBMITTED, SUCCESS
from chalicelib.transmissions.request import (
    CAMPAIGN_BYTES,
    DESCRIPTION_BYTES,
    TransmissionRequest,
)

_PATH: Final = "/api/v1/transmissions"

_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": (
        "Makes the request safe to repeat: a request with the same key is not sent "
        "again, and gets the first response again"
    ),
    "schema": text(pattern="^[A-Za-z0-9._-]{1,255}$"),
}
_CONTENT: Final = (
    "One of four: the parts of a message (`from`, `subject`, and `text` or `html`), `template_id`, "
    "`ab_test_id`, or `email_rfc822` (a whole message)"
)
_MODEL: Final = of_model(TransmissionRequest)["properties"]
_OPTIONS: Final = _MODEL["options"]["properties"] | {
    "start_time": nullable(moment()) | {"description": "At most 3 days from now. Without it: now"},
    "skip_suppression": nullable(flag())
    | {"description": f"Send to suppressed recipients, too. {ENTERPRISE_ONLY}"},
    "reply_domain": nullable(text())
    | {
        "description": (
            "An inbound domain of the sender. Each message then gets a Reply-To at this domain "
            "that names the message, so that an answer is matched with it"
        )
    },
}
_BODY: Final = of_model(
    TransmissionRequest,
    content=_MODEL["content"] | {"description": _CONTENT},
    options=_MODEL["options"] | {"properties": _OPTIONS},
    metadata=mapping()
    | {"description": f"At most {METADATA_BYTES} bytes; data of a recipient takes precedence"},
    recipients=either(
        RECIPIENTS, obj("list_id", list_id=text(about="Id of a stored recipient list"))
    ),
    campaign_id=text(most=CAMPAIGN_BYTES),
    description=text(most=DESCRIPTION_BYTES),
    substitution_data=mapping()
    | {"description": f"At most {SUBSTITUTION_BYTES} bytes; data of a recipient takes precedence"},
)
_SUMMARY: Final[dict[str, Json]] = {
    "id": text(),
    "campaign_id": text(),
    "description": text(),
    "state": one_of([SUBMITTED, GENERATING, SUCCESS, CANCELLED]),
    "content": obj(
        template_id=text(about="`inline` if the content is not stored"),
        use_draft_template={"type": "boolean"},
        ab_test_id=text(about="A/B test that chooses the template when the transmission starts"),
    ),
    "num_rcpts": integer(),
    "num_generated": integer(),
    "num_failed_gen": integer()
    | {"description": "Recipients without a message: refused, suppressed, or not to be rendered"},
    "generation_start_time": nullable(moment()),
}
_TRANSMISSION: Final = record(
    **_SUMMARY,
    rcpt_list_chunk_size=integer(),
    rcpt_list_total_chunks=integer(),
    generation_end_time=nullable(moment()),
    return_path=text(),
    substitution_data=mapping(),
    metadata=mapping(),
    options=mapping() | {"description": "The options that the request set"},
)
_SENT_CONTENT: Final = record(
    source=one_of(SOURCES),
    final=flag()
    | {"description": "False until a scheduled transmission starts: its template may change"},
    template_id=Maybe(text()),
    use_draft_template=Maybe(flag()),
    template_version=Maybe(
        integer(1) | {"description": "Which of the template's edits, counted from 1, was used"}
    ),
    ab_test_id=Maybe(text()),
    content=mapping()
    | {
        "description": "The parts before substitution, or `email_rfc822`. Files have their size in "
        "bytes (`size`) instead of their data. Until it is final: as the request named it"
    },
    truncated=array(text()) | {"description": "Names of parts that are too long and are cut"},
    stored_until=moment(),
)
_CAMPAIGN_ID: Final = query("campaign_id", text(), "Only transmissions of this campaign")

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        with_header(
            results(record(id=text(), **ACCEPTED_COUNTS), **WITH_ERRORS),
            "X-Idempotent-Replayed",
            one_of(["true"]),
            "Present when this is the stored response to an earlier request with the same key",
        ),
        parameters=(NUM_RCPT_ERRORS, _IDEMPOTENCY_KEY),
        body=_BODY,
        refusals=(409, 420),
    ),
    f"GET {_PATH}": Operation(
        results(array(record(**_SUMMARY))),
        parameters=(
            _CAMPAIGN_ID,
            query("template_id", text(), "Only transmissions with this template"),
            query("limit", integer(1, MOST_LISTED), "The most transmissions; all without it"),
        ),
    ),
    f"DELETE {_PATH}": Operation(NO_CONTENT, parameters=(_CAMPAIGN_ID | {"required": True},)),
    f"GET {_PATH}/{{transmission_id}}": Operation(results(record(transmission=_TRANSMISSION))),
    f"GET {_PATH}/{{transmission_id}}/content": Operation(results(_SENT_CONTENT)),
    f"DELETE {_PATH}/{{transmission_id}}": Operation(NO_CONTENT, refusals=(409,)),
}
