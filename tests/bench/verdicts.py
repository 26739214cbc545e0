"""Count the received messages that are judged in a second: `python -m tests.bench verdicts`.

The answers of the DNS are in the cache. SPF takes an include and a host; DKIM is RSA-2048.
"""

from __future__ import annotations

import mmap
import tempfile
import tracemalloc
from time import time

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.core import cached_dns
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key, read_private
from chalicelib.dkim.signing import Signer
from chalicelib.mail_verdicts.judge import judge
from chalicelib.mail_verdicts.model import Origin
from tests.bench.sample_messages import build, notice
from tests.bench.timing import rates, verdict

#: Judged messages, in percent of the RSA-2048 signatures of the same time
TARGET = 50
#: Megabytes that a message of 20 MB may take
LARGE_TARGET = 10
_MEGABYTE = 1_000_000
_ORIGIN = Origin("198.51.100.1", "mail.example.test", "bounce@example.test")


def main() -> None:
    """Print messages per CPU second, and what a message of 20 MB takes, each with its target."""
    pair = generate_key(2048)
    signer = Signer(pair.private_pem, "sel", "example.test")
    _publish(txt_record(pair.public_b64))
    message = build(notice())
    message += b"0123456789abcdef" * 4 * ((5_000 - len(message)) // 66) + b"\r\n"
    message = signer.sign(message, int(time())) + message
    if judge(message, _ORIGIN).dmarc.result != "pass":
        raise SystemExit("the message does not pass")
    key = read_private(pair.private_pem, check=False)
    speeds = rates(
        {
            "raw RSA": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256()),
            "judge": lambda: judge(message, _ORIGIN),
        }
    )
    share = 100 * speeds["judge"] / speeds["raw RSA"]
    figures = ", ".join(f"{task} {rate:,.0f}/s" for task, rate in speeds.items())
    print(f"verdicts ({len(message):,} bytes): {figures}")
    print(f"verdicts: {share:.0f} percent of raw RSA [{verdict(share >= TARGET)}: {TARGET}]")
    megabytes = _growth(signer)
    print(
        f"verdicts (20 MB): {megabytes:.1f} MB more memory "
        f"[{verdict(megabytes <= LARGE_TARGET)}: {LARGE_TARGET}]"
    )


def _growth(signer: Signer) -> float:
    """Return the megabytes that are allocated for a large message in a mapped file, at most."""
    with tempfile.TemporaryFile() as file:
        message = build(notice()) + b"0123456789abcdef\r\n" * (20 * _MEGABYTE // 18)
        file.write(signer.sign(message, int(time())))
        file.write(message)
        file.flush()
        del message
        octets = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tracemalloc.start()
    if judge(octets, _ORIGIN).dmarc.result != "pass":
        raise SystemExit("the large message does not pass")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / _MEGABYTE


def _publish(key: str) -> None:
    """Put what the DNS would answer into the cache."""
    answers = {
        "example.test": "v=spf1 include:_spf.example.test -all",
        "_spf.example.test": "v=spf1 ip4:192.0.2.0/24 a:mail.example.test -all",
        "sel._domainkey.example.test": key,
        "_dmarc.example.test": "v=DMARC1; p=reject",
    }
    for name, text in answers.items():
        cached_dns.remember(name, "TXT", (text,))
    cached_dns.remember("_dmarc.test", "TXT", ())
    cached_dns.remember("mail.example.test", "A", ("198.51.100.1",))


if __name__ == "__main__":
    main()
