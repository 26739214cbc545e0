"""Message bodies for property tests of DKIM."""

from hypothesis import strategies as st

BODIES = st.lists(
    st.sampled_from(
        [b"word", b" ", b"   ", b"\t", b"\r\n", b"\r\n\r\n", b" \r\n", b"\t \r\n", b".", b"\xff"]
    )
    | st.binary(max_size=5).map(lambda text: text.translate(None, b"\r\n")),
    max_size=40,
).map(b"".join)
