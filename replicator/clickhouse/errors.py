"""Errors of ClickHouse and of the connection to it, with the operator's remedy."""

from __future__ import annotations

from typing import NamedTuple

_LOGIN = "correct the user in {address} or {password_file}"
_RIGHTS = "grant the user SELECT, INSERT, CREATE TABLE and ALTER DELETE on its database"
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


class SettingNames(NamedTuple):
    """Names of the settings of a client, as operators write them."""

    address: str
    password_file: str


def problem(error: Exception, settings: SettingNames) -> str:
    """Returns the reason in one line, without the server's stack trace, and the remedy.

    Args:
        error: of the driver, or of the socket while the driver used it.
        settings: settings that the remedy names.
    """
    text = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    first, *_ = text.removeprefix("DB::Exception: ").partition(" Stack trace:")[0].splitlines()
    code = getattr(error, "code", None)
    remedy = REMEDIES.get(code, "see its own log") if isinstance(code, int) else _AWAY
    return f"{first.rstrip('. ')}; {remedy.format(**settings._asdict())}"
