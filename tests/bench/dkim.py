"""Compare DKIM signing with raw RSA and with dkimpy: `python -m tests.bench.dkim`.

The targets are shares of the rate of raw RSA-2048 signatures in the same run: 65 percent for a
20 KB message, 85 percent for a 1 KB message.
"""

from time import time

import dkim as dkimpy
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key, read_private
from chalicelib.dkim.signing import Signer
from tests.bench.sample_messages import build, newsletter, notice
from tests.bench.timing import rates

TARGETS = {"newsletter": 65, "notice": 85}


def main() -> None:
    """Print signatures per CPU second, and their percentage of raw RSA with its target."""
    pair = generate_key(2048)
    key = read_private(pair.private_pem, check=False)
    signer = Signer(pair.private_pem, "sel", "example.test")
    now = int(time())
    record = txt_record(pair.public_b64).encode()
    for name, message in (("newsletter", build(newsletter())), ("notice", build(notice()))):
        signed_message = signer.sign(message, now) + message
        if not dkimpy.verify(signed_message, dnsfunc=lambda *_, **__: record):
            raise SystemExit(f"{name}: the signature does not verify")
        speeds = rates(
            {
                "raw RSA": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256()),
                "signer": lambda message=message: signer.sign(message, now),
                "dkimpy": lambda message=message: dkimpy.sign(
                    message, b"sel", b"example.test", pair.private_pem.encode()
                ),
            }
        )
        share = 100 * speeds["signer"] / speeds["raw RSA"]
        figures = ", ".join(f"{task} {rate:,.0f}/s" for task, rate in speeds.items())
        print(f"dkim {name} ({len(message):,} bytes): {figures}")
        verdict = "holds" if share >= TARGETS[name] else "FAILS"
        print(f"dkim {name}: {share:.0f} percent of raw RSA [{verdict}: {TARGETS[name]}]")


if __name__ == "__main__":
    main()
