"""List the domains of mail providers where anybody gets a mailbox for nothing.

The most used come first: a typo is compared with them in this order.
"""

from __future__ import annotations

from typing import Final

#: The providers with the most mailboxes. A domain of a typo of theirs is often registered, so that
#: mail to it is accepted by somebody else
GIANTS: Final = (
    *("gmail.com", "yahoo.com", "hotmail.com", "outlook.com", "icloud.com"),
    *("googlemail.com", "aol.com"),
)

_INTERNATIONAL = (
    "live.com msn.com me.com mac.com ymail.com rocketmail.com proton.me protonmail.com pm.me "
    "mail.com email.com usa.com post.com gmx.com zoho.com zohomail.com tutanota.com tuta.com "
    "tuta.io fastmail.com fastmail.fm hushmail.com aim.com inbox.com hey.com lycos.com excite.com "
    "netscape.net juno.com windowslive.com passport.com myyahoo.com duck.com"
)
_NATIONAL = (
    "gmx.de gmx.net web.de t-online.de freenet.de arcor.de gmx.at gmx.ch bluewin.ch mail.de "
    "orange.fr wanadoo.fr free.fr laposte.net sfr.fr neuf.fr voila.fr bbox.fr gmx.fr caramail.fr "
    "libero.it virgilio.it alice.it tin.it tiscali.it iol.it inwind.it poste.it "
    "terra.es telefonica.net sapo.pt iol.pt btinternet.com sky.com talktalk.net tiscali.co.uk "
    "eircom.net hetnet.nl planet.nl home.nl telenet.be skynet.be "
    "mail.ru yandex.ru yandex.com ya.ru bk.ru inbox.ru list.ru internet.ru rambler.ru lenta.ru "
    "ukr.net i.ua meta.ua bigmir.net tut.by yandex.by yandex.kz "
    "wp.pl o2.pl onet.pl op.pl vp.pl poczta.onet.pl interia.pl gazeta.pl tlen.pl "
    "seznam.cz email.cz post.cz centrum.cz atlas.cz centrum.sk azet.sk zoznam.sk "
    "freemail.hu citromail.hu abv.bg mail.bg dir.bg inbox.lv inbox.lt one.lt mail.ee "
    "qq.com foxmail.com 163.com 126.com yeah.net 188.com sina.com sina.cn sohu.com aliyun.com "
    "tom.com naver.com daum.net hanmail.net nate.com kakao.com rediffmail.com indiatimes.com "
    "walla.com walla.co.il uol.com.br bol.com.br terra.com.br ig.com.br globo.com r7.com "
    "oi.com.br bigpond.com optusnet.com.au xtra.co.nz comcast.net verizon.net att.net "
    "sbcglobal.net bellsouth.net charter.net cox.net earthlink.net shaw.ca rogers.com "
    "sympatico.ca videotron.ca telus.net"
)
_IN_COUNTRIES: Final = {
    "yahoo": (
        "co.uk fr de it es co.in in co.jp ca com.br com.au com.mx com.ar com.tw com.hk com.sg "
        "com.ph com.tr com.vn co.id co.kr co.nz co.th co.za at be ch cz dk fi gr hu ie nl no pl "
        "pt ro se"
    ),
    "hotmail": (
        "co.uk fr de it es ca com.br com.ar com.au com.mx com.tr co.in co.jp co.nz co.za co.th "
        "at be ch cl cz dk fi gr hu nl no se"
    ),
    "outlook": "fr de it es co.uk at be cl com.ar com.au com.br com.tr com.vn cz dk ie in jp pt",
    "live": "co.uk fr de it at be ca cl co.za com.ar com.au com.mx com.pt dk fi ie in nl no se",
    "aol": "co.uk de fr it es jp",
    "icloud": "com.cn",
}

#: All of them, the most used first
DOMAINS: Final = tuple(
    dict.fromkeys(
        (
            *GIANTS,
            *_INTERNATIONAL.split(),
            *(
                f"{name}.{country}"
                for name, countries in _IN_COUNTRIES.items()
                for country in countries.split()
            ),
            *_NATIONAL.split(),
        )
    )
)
_ALL: Final = frozenset(DOMAINS)


def is_free(domain: str) -> bool:
    """Tell whether a domain, in its one spelling, is one of a free provider."""
    return domain in _ALL
