"""Recognize automatic replies (RFC 3834) among people's answers and hosts' reports."""

from __future__ import annotations

import re

from chalicelib.inbound.mime import Fields

_MARKS = (
    "x-autoreply",
    "x-autorespond",
    "x-autoresponder",
    "x-autoreply-from",
    "x-auto-reply-from",
    "x-mail-autoreply",
    "x-vacation",
)
_PRECEDENCES = ("auto_reply", "auto-reply", "bulk", "junk", "list")
_SUBJECT = re.compile(
    r"(auto(matic|mated)?[ -]?(reply|response|responder|answer)|autoreply|automatisch|out[ -]of[ -]"
    r"(the[ -])?office|vacation|abwesen|r[eé]ponse automatique|absence|respuesta autom|"
    r"fuera de (la )?oficina|risposta automatica|resposta autom|autosvar|automaattinen|"
    r"automatisk[at]? |odpowied[zź] automat|automatick[aá] odpov|otomatik yan[iı]t|автоответ|"
    r"自动回复|自動(回覆|返信|応答)|부재중)",
    re.IGNORECASE,
)
_LONGEST_SUBJECT = 300


def is_auto_reply(fields: Fields) -> bool:
    """Tell whether the header of a message shows that a machine answered."""
    submitted = fields.first("auto-submitted").partition(";")[0].strip().lower()
    if submitted and submitted != "no":
        return True
    if any(mark in fields for mark in _MARKS):
        return True
    precedence = {fields.first(name).lower() for name in ("precedence", "x-precedence")}
    return not precedence.isdisjoint(_PRECEDENCES) or has_auto_reply_subject(fields)


def has_auto_reply_subject(fields: Fields) -> bool:
    """Tell whether the subject begins like that of an automatic reply."""
    subject = fields.words("subject")[:_LONGEST_SUBJECT]
    return _SUBJECT.match(subject) is not None
