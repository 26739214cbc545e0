"""The domains that most consumers have their mailboxes at, for the report by watched domain.

The service chooses them: nothing says which they are.
"""

from __future__ import annotations

from typing import Final

_NAMES = """
aol.com att.net bellsouth.net comcast.net cox.net gmail.com gmx.de gmx.net googlemail.com
hotmail.co.uk hotmail.com hotmail.fr icloud.com live.com mac.com mail.ru me.com msn.com orange.fr
outlook.com proton.me qq.com rocketmail.com sbcglobal.net t-online.de verizon.net web.de
yahoo.co.jp yahoo.co.uk yahoo.com yahoo.de yahoo.fr yandex.ru ymail.com
"""

WATCHED: Final = frozenset(_NAMES.split())
