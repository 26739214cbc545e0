"""Compare MIME assembly with the standard library's: `python -m tests.bench.mime`."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

from tests.bench.sample_messages import UNSUBSCRIBE, Sample, build, newsletter, notice
from tests.bench.timing import rates

SAMPLES = {
    "newsletter, 7bit": newsletter(""),
    "newsletter, quoted-printable": newsletter(),
    "newsletter, Japanese": Sample(
        "日本語", "日本語のメール。\n" * 200, "<p>日本語のメール</p>\n" * 500
    ),
    "notice, 7bit": notice(""),
    "notice, quoted-printable": notice(),
}


def main() -> None:
    """Print the messages per CPU second of both assemblers."""
    for name, sample in SAMPLES.items():
        speeds = rates(
            {
                "assembler": lambda sample=sample: build(sample),
                "EmailMessage": lambda sample=sample: build_with_stdlib(sample),
            },
            rounds=7,
        )
        ratio = speeds["assembler"] / speeds["EmailMessage"]
        figures = ", ".join(f"{task} {rate:,.0f}/s" for task, rate in speeds.items())
        print(f"mime {name} ({len(build(sample)):,} bytes): {figures} (x{ratio:.0f})")


def build_with_stdlib(sample: Sample) -> bytes:
    """Assemble the same message with ``EmailMessage``."""
    message = EmailMessage(policy=SMTP)
    message["From"] = Address("The Shop", addr_spec="news@example.test")
    message["To"] = Address("Zoë Müller", addr_spec="zoe@example.net")
    message["Subject"] = sample.subject
    message["Date"] = "Mon, 05 Jan 2026 09:00:00 +0000"
    message["Message-ID"] = "<4711@example.test>"
    message["List-Unsubscribe"] = UNSUBSCRIBE
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(sample.text)
    message.add_alternative(sample.html, subtype="html")
    return message.as_bytes()


if __name__ == "__main__":
    main()
