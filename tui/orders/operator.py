"""Name of the person who runs a command, for the records of decisions."""

import getpass
import socket


def operator() -> str:
    """Returns user@host; the user is "nobody" when the account has no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "nobody"
    return f"{user}@{socket.gethostname()}"
