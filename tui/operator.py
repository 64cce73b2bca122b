"""Who is at work, for the record of what is decided."""

import getpass
import socket


def operator() -> str:
    """user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "nobody"
    return f"{user}@{socket.gethostname()}"
