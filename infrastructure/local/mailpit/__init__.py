"""Answer programs that know Mailpit: its HTTP API, over the mailbox.

The paths, the names of fields, the status codes and the texts are those of Mailpit 1.30; the
mailbox and what examines its messages are this service's own.
"""

from typing import Final

#: The version of Mailpit whose API this is; programs compare it
VERSION: Final = "v1.30.5"
