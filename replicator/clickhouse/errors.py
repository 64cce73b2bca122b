"""Errors of ClickHouse and of the connection to it, with the operator's remedy."""

from __future__ import annotations

from typing import NamedTuple

_LOGIN = "correct the user in {address} or {password_file}"
_RIGHTS = "grant the user {rights} on its database"
_AWAY = "check that it runs, and answers there"

REMEDIES = {
    81: "create the database, or correct {address}",  # UNKNOWN_DATABASE
    164: _RIGHTS,  # READONLY
    192: _LOGIN,  # UNKNOWN_USER
    193: _LOGIN,  # WRONG_PASSWORD
    194: _LOGIN,  # REQUIRED_PASSWORD
    209: _AWAY,  # SOCKET_TIMEOUT, of the driver like the next one
    210: _AWAY,  # NETWORK_ERROR
    497: _RIGHTS,  # ACCESS_DENIED
    516: _LOGIN,  # AUTHENTICATION_FAILED
}
"""Remedies by ClickHouse error code, which the driver's errors carry too. All other codes are for
the administrators of the server."""


class ClientSetup(NamedTuple):
    """Setup of a client as its operator knows it, for remedies.

    Args:
        address, password_file: names of the settings.
        rights: that its user needs.
    """

    address: str
    password_file: str
    rights: str = "SELECT and INSERT"


def problem(error: Exception, setup: ClientSetup) -> str:
    """Returns the reason in one line, without the server's stack trace, and the remedy.

    Args:
        error: of the driver, or of the socket while the driver used it.
        setup: of the client, for the remedy.
    """
    code = code_of(error)
    remedy = _AWAY if code is None else REMEDIES.get(code, "see its own log")
    return f"{reason(error)}; {remedy.format(**setup._asdict())}"


def reason(error: Exception) -> str:
    """Returns the reason in one line, without the server's stack trace."""
    text = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    first, *_ = text.removeprefix("DB::Exception: ").partition(" Stack trace:")[0].splitlines()
    return first.rstrip(". ")


def code_of(error: Exception) -> int | None:
    """Returns ClickHouse's code of an error; None for errors of the socket."""
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None
