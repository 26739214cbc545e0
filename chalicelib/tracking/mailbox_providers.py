"""Name the mailbox provider of a recipient's domain (``mailbox_provider`` of spec 2.11).

Large consumer providers are known by their domains. A company's own domain shows its provider only
in its MX records; ``PROVIDERS_BY_MX`` switches that lookup on (``tracking.mailbox_hosts``).
"""

from __future__ import annotations

from chalicelib.core.settings import settings
from chalicelib.tracking import mailbox_hosts
from chalicelib.tracking.providers import (
    ASIA,
    EUROPE,
    GLOBAL,
    NORTH_AMERICA,
    OTHER,
    MailboxProvider,
)

_DOMAINS = {
    MailboxProvider("Gmail", GLOBAL): "gmail.com googlemail.com google.com",
    MailboxProvider("Hotmail / Outlook", GLOBAL): "msn.com passport.com windowslive.com",
    MailboxProvider("Yahoo", GLOBAL): "ymail.com rocketmail.com myyahoo.com",
    MailboxProvider("AOL", GLOBAL): (
        "aol.com aim.com netscape.net cs.com compuserve.com wow.com games.com love.com verizon.net"
    ),
    MailboxProvider("Apple", GLOBAL): "icloud.com me.com mac.com privaterelay.appleid.com",
    MailboxProvider("Proton", GLOBAL): "proton.me protonmail.com protonmail.ch pm.me",
    MailboxProvider("mail.com", GLOBAL): "mail.com email.com usa.com post.com europe.com asia.com",
    MailboxProvider("Zoho", GLOBAL): "zoho.com zohomail.com zoho.eu zoho.in",
    MailboxProvider("Fastmail", GLOBAL): "fastmail.com fastmail.fm",
    MailboxProvider("AT&T", NORTH_AMERICA): (
        "att.net bellsouth.net sbcglobal.net ameritech.net flash.net nvbell.net pacbell.net "
        "prodigy.net snet.net swbell.net wans.net currently.com"
    ),
    MailboxProvider("Comcast", NORTH_AMERICA): "comcast.net",
    MailboxProvider("Charter", NORTH_AMERICA): (
        "charter.net spectrum.net twc.com rr.com roadrunner.com brighthouse.com"
    ),
    MailboxProvider("Cox", NORTH_AMERICA): "cox.net",
    MailboxProvider(
        "CenturyLink", NORTH_AMERICA
    ): "centurylink.net centurytel.net embarqmail.com q.com",
    MailboxProvider("EarthLink", NORTH_AMERICA): "earthlink.net mindspring.com peoplepc.com",
    MailboxProvider("Frontier", NORTH_AMERICA): "frontier.com frontiernet.net",
    MailboxProvider("Optimum", NORTH_AMERICA): "optonline.net optimum.net suddenlink.net",
    MailboxProvider("Windstream", NORTH_AMERICA): "windstream.net",
    MailboxProvider("Juno / NetZero", NORTH_AMERICA): "juno.com netzero.net netzero.com",
    MailboxProvider("Bell", NORTH_AMERICA): "bell.net sympatico.ca",
    MailboxProvider("Rogers", NORTH_AMERICA): "rogers.com",
    MailboxProvider("Shaw", NORTH_AMERICA): "shaw.ca",
    MailboxProvider("Telus", NORTH_AMERICA): "telus.net",
    MailboxProvider("Videotron", NORTH_AMERICA): "videotron.ca",
    MailboxProvider("GMX", EUROPE): (
        "gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.us gmx.fr gmx.es gmx.co.uk gmx.info gmx.org"
    ),
    MailboxProvider("WEB.DE", EUROPE): "web.de",
    MailboxProvider("T-Online", EUROPE): "t-online.de magenta.de",
    MailboxProvider("Freenet", EUROPE): "freenet.de",
    MailboxProvider("1&1 IONOS", EUROPE): "online.de onlinehome.de",
    MailboxProvider("Posteo", EUROPE): "posteo.de posteo.net",
    MailboxProvider("mailbox.org", EUROPE): "mailbox.org",
    MailboxProvider("Bluewin", EUROPE): "bluewin.ch",
    MailboxProvider("A1", EUROPE): "aon.at a1.net",
    MailboxProvider("Orange", EUROPE): "orange.fr wanadoo.fr voila.fr orange.es orange.pl",
    MailboxProvider("Free", EUROPE): "free.fr aliceadsl.fr",
    MailboxProvider("SFR", EUROPE): "sfr.fr neuf.fr cegetel.net club-internet.fr 9online.fr",
    MailboxProvider("La Poste", EUROPE): "laposte.net",
    MailboxProvider("Bouygues", EUROPE): "bbox.fr",
    MailboxProvider("BT", EUROPE): "btinternet.com btopenworld.com talk21.com bt.com",
    MailboxProvider("Sky", EUROPE): "sky.com",
    MailboxProvider("Virgin Media", EUROPE): (
        "virginmedia.com virgin.net ntlworld.com blueyonder.co.uk"
    ),
    MailboxProvider("TalkTalk", EUROPE): "talktalk.net tiscali.co.uk",
    MailboxProvider("Plusnet", EUROPE): "plus.com plus.net",
    MailboxProvider("Eircom", EUROPE): "eircom.net",
    MailboxProvider("Libero", EUROPE): "libero.it virgilio.it inwind.it iol.it blu.it giallo.it",
    MailboxProvider("TIM", EUROPE): "tim.it alice.it tin.it",
    MailboxProvider("Tiscali", EUROPE): "tiscali.it",
    MailboxProvider("Aruba", EUROPE): "aruba.it pec.it",
    MailboxProvider("Telefonica", EUROPE): "telefonica.net terra.es",
    MailboxProvider("Sapo", EUROPE): "sapo.pt",
    MailboxProvider("KPN", EUROPE): "kpnmail.nl hetnet.nl planet.nl xs4all.nl kpnplanet.nl",
    MailboxProvider("Ziggo", EUROPE): "ziggo.nl home.nl upcmail.nl chello.nl casema.nl",
    MailboxProvider("Telenet", EUROPE): "telenet.be pandora.be",
    MailboxProvider("Proximus", EUROPE): "skynet.be proximus.be",
    MailboxProvider("Telia", EUROPE): "telia.com",
    MailboxProvider("Onet", EUROPE): "onet.pl op.pl onet.eu poczta.onet.pl vp.pl",
    MailboxProvider("WP", EUROPE): "wp.pl o2.pl tlen.pl go2.pl",
    MailboxProvider("Interia", EUROPE): "interia.pl interia.eu poczta.fm",
    MailboxProvider("Seznam", EUROPE): "seznam.cz email.cz post.cz spoluzaci.cz",
    MailboxProvider("Centrum", EUROPE): "centrum.cz centrum.sk atlas.cz azet.sk",
    MailboxProvider("Freemail", EUROPE): "freemail.hu citromail.hu",
    MailboxProvider("Abv", EUROPE): "abv.bg",
    MailboxProvider("Yandex", EUROPE): "yandex.ru yandex.com ya.ru yandex.by yandex.kz yandex.ua",
    MailboxProvider("Mail.Ru", EUROPE): "mail.ru bk.ru inbox.ru list.ru internet.ru",
    MailboxProvider("Rambler", EUROPE): "rambler.ru lenta.ru autorambler.ru",
    MailboxProvider("UKR.NET", EUROPE): "ukr.net",
    MailboxProvider("QQ", ASIA): "qq.com foxmail.com vip.qq.com",
    MailboxProvider("NetEase", ASIA): "163.com 126.com yeah.net 188.com vip.163.com",
    MailboxProvider("Sina", ASIA): "sina.com sina.cn vip.sina.com",
    MailboxProvider("Sohu", ASIA): "sohu.com",
    MailboxProvider("Aliyun", ASIA): "aliyun.com",
    MailboxProvider("Naver", ASIA): "naver.com",
    MailboxProvider("Daum", ASIA): "daum.net hanmail.net kakao.com nate.com",
    MailboxProvider("Docomo", ASIA): "docomo.ne.jp",
    MailboxProvider("au", ASIA): "ezweb.ne.jp au.com",
    MailboxProvider("SoftBank", ASIA): "softbank.ne.jp i.softbank.jp",
    MailboxProvider("Rediff", ASIA): "rediffmail.com rediff.com",
    MailboxProvider("Telstra", ASIA): "bigpond.com bigpond.net.au telstra.com",
    MailboxProvider("Optus", ASIA): "optusnet.com.au",
    MailboxProvider("iiNet", ASIA): "iinet.net.au westnet.com.au internode.on.net",
    MailboxProvider("Xtra", ASIA): "xtra.co.nz",
    MailboxProvider("UOL", "South America"): "uol.com.br bol.com.br",
    MailboxProvider("Terra", "South America"): "terra.com.br",
    MailboxProvider("iG", "South America"): "ig.com.br",
    MailboxProvider("Walla", "Middle East"): "walla.com walla.co.il",
}
_BY_DOMAIN = {
    domain: provider for provider, domains in _DOMAINS.items() for domain in domains.split()
}

# Providers that have a domain in many countries
_IN_COUNTRIES = {
    MailboxProvider("Yahoo", GLOBAL): {
        "yahoo": (
            "com ae at be bg ca ch cl cn co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za "
            "com.ar com.au com.br com.cn com.co com.hk com.hr com.mx com.my com.pe com.ph com.sg "
            "com.tr com.tw com.ua com.ve com.vn cz de dk ee es fi fr gr hu ie in it lt lv nl no pl "
            "pt ro rs se sk"
        )
    },
    MailboxProvider("Hotmail / Outlook", GLOBAL): {
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
    MailboxProvider("AOL", GLOBAL): {"aol": "at be ch co.uk com.au com.br de es fr it jp nl pl se"},
}
_BY_DOMAIN |= {
    f"{name}.{country}": provider
    for provider, names in _IN_COUNTRIES.items()
    for name, countries in names.items()
    for country in countries.split()
}


def mailbox_provider(domain: str) -> MailboxProvider:
    """Return the provider and region of a recipient's domain (in lower case)."""
    provider = _BY_DOMAIN.get(domain)
    if provider is None and settings().providers_by_mx:
        return mailbox_hosts.provider_by_mx(domain)
    return provider or OTHER
