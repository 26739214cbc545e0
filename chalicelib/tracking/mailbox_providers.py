"""Who runs the mailboxes of a domain, and where (``mailbox_provider`` of spec 2.11).

The large consumer providers are told by their domains. Of a domain of one's own only its MX records
would tell, which nobody looks up for an event; it counts as ``Other``.
"""

from __future__ import annotations

from typing import NamedTuple


class MailboxProvider(NamedTuple):
    """A provider and the region it serves."""

    provider: str
    region: str


OTHER = MailboxProvider("Other", "Unknown")

_GLOBAL = "Global"
_AMERICA = "North America"
_EUROPE = "Europe"
_ASIA = "Asia Pacific"

_DOMAINS = {
    MailboxProvider("Gmail", _GLOBAL): "gmail.com googlemail.com google.com",
    MailboxProvider("Hotmail / Outlook", _GLOBAL): "msn.com passport.com windowslive.com",
    MailboxProvider("Yahoo", _GLOBAL): "ymail.com rocketmail.com myyahoo.com",
    MailboxProvider("AOL", _GLOBAL): (
        "aol.com aim.com netscape.net cs.com compuserve.com wow.com games.com love.com verizon.net"
    ),
    MailboxProvider("Apple", _GLOBAL): "icloud.com me.com mac.com privaterelay.appleid.com",
    MailboxProvider("Proton", _GLOBAL): "proton.me protonmail.com protonmail.ch pm.me",
    MailboxProvider("mail.com", _GLOBAL): "mail.com email.com usa.com post.com europe.com asia.com",
    MailboxProvider("Zoho", _GLOBAL): "zoho.com zohomail.com zoho.eu zoho.in",
    MailboxProvider("Fastmail", _GLOBAL): "fastmail.com fastmail.fm",
    MailboxProvider("AT&T", _AMERICA): (
        "att.net bellsouth.net sbcglobal.net ameritech.net flash.net nvbell.net pacbell.net "
        "prodigy.net snet.net swbell.net wans.net currently.com"
    ),
    MailboxProvider("Comcast", _AMERICA): "comcast.net",
    MailboxProvider("Charter", _AMERICA): (
        "charter.net spectrum.net twc.com rr.com roadrunner.com brighthouse.com"
    ),
    MailboxProvider("Cox", _AMERICA): "cox.net",
    MailboxProvider("CenturyLink", _AMERICA): "centurylink.net centurytel.net embarqmail.com q.com",
    MailboxProvider("EarthLink", _AMERICA): "earthlink.net mindspring.com peoplepc.com",
    MailboxProvider("Frontier", _AMERICA): "frontier.com frontiernet.net",
    MailboxProvider("Optimum", _AMERICA): "optonline.net optimum.net suddenlink.net",
    MailboxProvider("Windstream", _AMERICA): "windstream.net",
    MailboxProvider("Juno / NetZero", _AMERICA): "juno.com netzero.net netzero.com",
    MailboxProvider("Bell", _AMERICA): "bell.net sympatico.ca",
    MailboxProvider("Rogers", _AMERICA): "rogers.com",
    MailboxProvider("Shaw", _AMERICA): "shaw.ca",
    MailboxProvider("Telus", _AMERICA): "telus.net",
    MailboxProvider("Videotron", _AMERICA): "videotron.ca",
    MailboxProvider("GMX", _EUROPE): (
        "gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.us gmx.fr gmx.es gmx.co.uk gmx.info gmx.org"
    ),
    MailboxProvider("WEB.DE", _EUROPE): "web.de",
    MailboxProvider("T-Online", _EUROPE): "t-online.de magenta.de",
    MailboxProvider("Freenet", _EUROPE): "freenet.de",
    MailboxProvider("1&1 IONOS", _EUROPE): "online.de onlinehome.de",
    MailboxProvider("Posteo", _EUROPE): "posteo.de posteo.net",
    MailboxProvider("mailbox.org", _EUROPE): "mailbox.org",
    MailboxProvider("Bluewin", _EUROPE): "bluewin.ch",
    MailboxProvider("A1", _EUROPE): "aon.at a1.net",
    MailboxProvider("Orange", _EUROPE): "orange.fr wanadoo.fr voila.fr orange.es orange.pl",
    MailboxProvider("Free", _EUROPE): "free.fr aliceadsl.fr",
    MailboxProvider("SFR", _EUROPE): "sfr.fr neuf.fr cegetel.net club-internet.fr 9online.fr",
    MailboxProvider("La Poste", _EUROPE): "laposte.net",
    MailboxProvider("Bouygues", _EUROPE): "bbox.fr",
    MailboxProvider("BT", _EUROPE): "btinternet.com btopenworld.com talk21.com bt.com",
    MailboxProvider("Sky", _EUROPE): "sky.com",
    MailboxProvider("Virgin Media", _EUROPE): (
        "virginmedia.com virgin.net ntlworld.com blueyonder.co.uk"
    ),
    MailboxProvider("TalkTalk", _EUROPE): "talktalk.net tiscali.co.uk",
    MailboxProvider("Plusnet", _EUROPE): "plus.com plus.net",
    MailboxProvider("Eircom", _EUROPE): "eircom.net",
    MailboxProvider("Libero", _EUROPE): "libero.it virgilio.it inwind.it iol.it blu.it giallo.it",
    MailboxProvider("TIM", _EUROPE): "tim.it alice.it tin.it",
    MailboxProvider("Tiscali", _EUROPE): "tiscali.it",
    MailboxProvider("Aruba", _EUROPE): "aruba.it pec.it",
    MailboxProvider("Telefonica", _EUROPE): "telefonica.net terra.es",
    MailboxProvider("Sapo", _EUROPE): "sapo.pt",
    MailboxProvider("KPN", _EUROPE): "kpnmail.nl hetnet.nl planet.nl xs4all.nl kpnplanet.nl",
    MailboxProvider("Ziggo", _EUROPE): "ziggo.nl home.nl upcmail.nl chello.nl casema.nl",
    MailboxProvider("Telenet", _EUROPE): "telenet.be pandora.be",
    MailboxProvider("Proximus", _EUROPE): "skynet.be proximus.be",
    MailboxProvider("Telia", _EUROPE): "telia.com",
    MailboxProvider("Onet", _EUROPE): "onet.pl op.pl onet.eu poczta.onet.pl vp.pl",
    MailboxProvider("WP", _EUROPE): "wp.pl o2.pl tlen.pl go2.pl",
    MailboxProvider("Interia", _EUROPE): "interia.pl interia.eu poczta.fm",
    MailboxProvider("Seznam", _EUROPE): "seznam.cz email.cz post.cz spoluzaci.cz",
    MailboxProvider("Centrum", _EUROPE): "centrum.cz centrum.sk atlas.cz azet.sk",
    MailboxProvider("Freemail", _EUROPE): "freemail.hu citromail.hu",
    MailboxProvider("Abv", _EUROPE): "abv.bg",
    MailboxProvider("Yandex", _EUROPE): "yandex.ru yandex.com ya.ru yandex.by yandex.kz yandex.ua",
    MailboxProvider("Mail.Ru", _EUROPE): "mail.ru bk.ru inbox.ru list.ru internet.ru",
    MailboxProvider("Rambler", _EUROPE): "rambler.ru lenta.ru autorambler.ru",
    MailboxProvider("UKR.NET", _EUROPE): "ukr.net",
    MailboxProvider("QQ", _ASIA): "qq.com foxmail.com vip.qq.com",
    MailboxProvider("NetEase", _ASIA): "163.com 126.com yeah.net 188.com vip.163.com",
    MailboxProvider("Sina", _ASIA): "sina.com sina.cn vip.sina.com",
    MailboxProvider("Sohu", _ASIA): "sohu.com",
    MailboxProvider("Aliyun", _ASIA): "aliyun.com",
    MailboxProvider("Naver", _ASIA): "naver.com",
    MailboxProvider("Daum", _ASIA): "daum.net hanmail.net kakao.com nate.com",
    MailboxProvider("Docomo", _ASIA): "docomo.ne.jp",
    MailboxProvider("au", _ASIA): "ezweb.ne.jp au.com",
    MailboxProvider("SoftBank", _ASIA): "softbank.ne.jp i.softbank.jp",
    MailboxProvider("Rediff", _ASIA): "rediffmail.com rediff.com",
    MailboxProvider("Telstra", _ASIA): "bigpond.com bigpond.net.au telstra.com",
    MailboxProvider("Optus", _ASIA): "optusnet.com.au",
    MailboxProvider("iiNet", _ASIA): "iinet.net.au westnet.com.au internode.on.net",
    MailboxProvider("Xtra", _ASIA): "xtra.co.nz",
    MailboxProvider("UOL", "South America"): "uol.com.br bol.com.br",
    MailboxProvider("Terra", "South America"): "terra.com.br",
    MailboxProvider("iG", "South America"): "ig.com.br",
    MailboxProvider("Walla", "Middle East"): "walla.com walla.co.il",
}
_KNOWN = {domain: provider for provider, domains in _DOMAINS.items() for domain in domains.split()}

# Providers that have a domain in many countries
_IN_COUNTRIES = {
    MailboxProvider("Yahoo", _GLOBAL): {
        "yahoo": (
            "com ae at be bg ca ch cl cn co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za "
            "com.ar com.au com.br com.cn com.co com.hk com.hr com.mx com.my com.pe com.ph com.sg "
            "com.tr com.tw com.ua com.ve com.vn cz de dk ee es fi fr gr hu ie in it lt lv nl no pl "
            "pt ro rs se sk"
        )
    },
    MailboxProvider("Hotmail / Outlook", _GLOBAL): {
        "hotmail": (
            "com at be ca ch cl co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za com.ar "
            "com.au com.br com.hk com.mx com.tr com.tw com.vn cz de dk ee es fi fr gr hu ie in it "
            "lt lv my nl no ph rs se sg sk"
        ),
        "outlook": (
            "com at be cl co.id co.il co.nz co.th com.ar com.au com.br com.gr com.pe com.tr com.vn "
            "cz de dk es fr hu ie in it jp kr lv my ph pt ro sa sg sk"
        ),
        "live": (
            "com at be ca cl cn co.in co.kr co.uk co.za com.ar com.au com.mx com.my com.ph com.pt "
            "com.sg com.ve de dk fi fr hk ie in it jp nl no ru se"
        ),
    },
    MailboxProvider("AOL", _GLOBAL): {
        "aol": "at be ch co.uk com.au com.br de es fr it jp nl pl se"
    },
}
_KNOWN |= {
    f"{name}.{country}": provider
    for provider, names in _IN_COUNTRIES.items()
    for name, countries in names.items()
    for country in countries.split()
}


def mailbox_provider(domain: str) -> MailboxProvider:
    """Return who runs the mailboxes of a recipient's domain (in lower case), and where."""
    return _KNOWN.get(domain, OTHER)
