"""Errors of ClickHouse and of the connection to it, with the operator's remedy."""

from __future__ import annotations

_LOGIN = "mend the user in balance.history_clickhouse or balance.history_clickhouse_password_file"
_RIGHTS = "grant the user SELECT, INSERT, CREATE TABLE and ALTER DELETE on its database"
_AWAY = "see that it runs, and answers there"

MENDS = {
    81: "create the database, or mend balance.history_clickhouse",  # UNKNOWN_DATABASE
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


def trouble(error: Exception) -> str:
    """Returns the reason in one line, without the server's stack trace, and the remedy.

    Args:
        error: of the driver, or of the socket while the driver used it.
    """
    text = str(getattr(error, "message", None) or str(error) or type(error).__name__)
    first, *_ = text.removeprefix("DB::Exception: ").partition(" Stack trace:")[0].splitlines()
    code = getattr(error, "code", None)
    mend = MENDS.get(code, "see its own log") if isinstance(code, int) else _AWAY
    return f"{first.rstrip('. ')}; {mend}"
