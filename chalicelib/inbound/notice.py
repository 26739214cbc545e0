"""Describe a message that came back: its own title and words, and who wrote it.

Bounces, automatic replies and answers of people may all quote the original message and the replies
of other hosts, and people may have the same names as mail systems. So a notice without a
machine-readable part counts as a bounce only if a mail host wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from chalicelib.core.bounce_classes import GENERIC_BOUNCE, UNDETERMINED
from chalicelib.delivery.classify import classify
from chalicelib.inbound import own_words
from chalicelib.inbound.mime import ORIGINALS, Mail
from chalicelib.mail_format import auto_reply
from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.headers import Address

_LONGEST_TITLE = 300
_REFUSED = 550
_LONGEST_AUTHOR = 1_000
_SPACE = re.compile(r"\s+")

#: Local parts that no person has, and names that a host gives itself
_DAEMON = re.compile(
    r"(e?mailer[-_. ]?daemon|mail[-_. ]?daemon|m?daemon|mail[-_. ]?deliver[y]?[-_. ](sub)?system)"
    r"([-_.+=].*)?",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"(e?mail )?deliver[y]? (sub)?system|mailer[- ]?daemon|e?mail (delivery )?(sub)?system",
    re.IGNORECASE,
)
#: A host or a person: many people receive the mail to this address
_POSTMASTER = re.compile(r"(system[-_. ]?administrator|po{1,2}st[-_. ]?master)", re.IGNORECASE)
_FAILURE = re.compile(r"\((failure|rejected)\)", re.IGNORECASE)
_ANSWER = re.compile(
    r"(re|aw|antw|antwort|sv|vs|odp|ynt|rif|ris|res|r|hv|回复|答复|回覆|返信|답장|отв)"
    r"( ?\[[0-9]+\])?\s?[:：]",
    re.IGNORECASE,
)
_BOUNCE_TITLE = re.compile(
    r"([\W_]{0,3}(postmaster|automatic|automatisch)[\W_]{0,3})?"
    r"(your )?(e?mail |message )?(undeliver|failure notice|returned (mail|to sender)|"
    r"delivery (status notification|notification|failure|fail|report|has failed|problem|error)|"
    r"failed (mail|delivery)|failure delivery|"
    r"mail (delivery )?(fail|error|could not|system error|status report)|non[- ]?delivery|"
    r"(message |mail )?not (be )?delivered|could not deliver|permanent delivery failure|"
    r"automatically rejected mail|"
    r"unzustellbar|nicht zustellbar|nicht zugestellt|zustellung|unzustellbare|"
    r"non remis|non distribu|notification d'échec|échec de (la )?(remise|distribution)|"
    r"no se puede entregar|no entregado|no se ha podido entregar|correo devuelto|"
    r"mancato recapito|mancata consegna|impossibile recapitare|"
    r"não entregue|não foi possível entregar|devolvid|"
    r"onbestelbaar|niet bezorgd|niet te bezorgen|"
    r"niedostarczona|nie można dostarczyć|nedoručiteln|nedoručené|kézbesíthetetlen|"
    r"det går inte att leverera|olevererbart|kan ikke leveres|toimittamaton|teslim edilemedi|"
    r"ваше сообщение не доставлено|недоставлен|сообщение не доставлено|не доставлено|"
    r"メールエラー通知|配信不能|配信エラー|配送失敗|送信エラー|未送信|未配達|"
    r"未传递|无法送达|退信|系统退信|未傳遞的主旨|無法傳遞|배달되지 않음|전송 실패|반송)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Notice:
    """A message that came back about an original one.

    ``recipient`` and ``subject`` are those of the original, empty if they are not known.
    ``mail_from`` is the envelope sender of what came back, empty for the null reverse-path.
    """

    mail: Mail
    recipient: str = ""
    subject: str = ""
    mail_from: str = ""

    @cached_property
    def title(self) -> str:
        """The subject, without that of the original."""
        title = _on_one_line(self.mail.fields.words("subject"))
        subject = _on_one_line(self.subject)
        prefix, colon, rest = title.rpartition(": ")
        if subject and title.lower().endswith(subject.lower()):
            return title[: -len(subject)]
        return prefix + colon if rest and subject.startswith(rest.rstrip(".…")) else title

    @cached_property
    def text(self) -> str:
        """Its own words, without the subject of the original."""
        return self.without_subject(own_words.own_words(self.mail, self.recipient))

    @cached_property
    def author(self) -> str:
        """The address of its author, in lower case; empty if it has none."""
        return self._author[1]

    @property
    def is_of_the_recipient(self) -> bool:
        """Tell whether the mailbox answers that the original went to, so that it exists."""
        return bool(self.recipient) and self.author == self.recipient.lower()

    @property
    def is_from_host(self) -> bool:
        """Tell whether a mail host wrote it, and not a person or a mailbox."""
        name, address = self._author
        local_part = address.rpartition("@")[0] or address
        if "x-failed-recipients" in self.mail.fields or _DAEMON.fullmatch(local_part or name):
            return True
        if _SYSTEM.fullmatch(name) or _FAILURE.search(self.mail.fields.first("auto-submitted")):
            return True
        if not _POSTMASTER.fullmatch(local_part or name) or self._is_answer:
            return False
        return self.has_bounce_title or (not self.mail_from and self.names_recipient)

    @property
    def has_bounce_title(self) -> bool:
        """Tell whether the subject begins like that of a bounce."""
        return _BOUNCE_TITLE.match(self.title) is not None

    @property
    def names_recipient(self) -> bool:
        """Tell whether its own words name the recipient."""
        return self.recipient.lower() in self.text.lower()

    @property
    def returns_original(self) -> bool:
        """Tell whether it attaches a message, or the header of one."""
        return self.mail.part(*ORIGINALS) is not None

    def without_subject(self, text: str) -> str:
        """Return a text without the subject of the original, if that reads like a reason."""
        if self._subject_pattern is None:
            return text
        return self._subject_pattern.sub(" ", text)

    @cached_property
    def _subject_pattern(self) -> re.Pattern[str] | None:
        subject = self.subject[:_LONGEST_TITLE]
        if classify(_REFUSED, subject) in (UNDETERMINED, GENERIC_BOUNCE):
            return None
        return re.compile(r"\s+".join(map(re.escape, subject.split())), re.IGNORECASE)

    @cached_property
    def _author(self) -> tuple[str, str]:
        """The name and address of the first author; an address without a domain may stand alone."""
        field = self.mail.fields.words("from")[:_LONGEST_AUTHOR]
        name, address = next(iter(read_addresses([field])), Address(None, ""))
        return (name or "").strip(), address.lower()

    @property
    def _is_answer(self) -> bool:
        """Tell whether a person or a mailbox seems to answer the original."""
        if not self.mail_from and not auto_reply.is_automatic(self.mail.fields):
            return False
        return not self.title or _ANSWER.match(self.mail.fields.words("subject")) is not None


def _on_one_line(subject: str) -> str:
    return _SPACE.sub(" ", subject[:_LONGEST_TITLE]).strip()
