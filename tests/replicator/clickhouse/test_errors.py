"""An error of ClickHouse becomes one line with a remedy."""

import pytest
from clickhouse_driver.errors import NetworkError, ServerException, SocketTimeoutError

from replicator.clickhouse.errors import trouble


@pytest.mark.parametrize(
    ("code", "text", "reason", "mend"),
    [
        (81, "Database sluice doesn't exist", "Database sluice doesn't exist", "create the data"),
        (193, "Wrong password for user a", "Wrong password for user a", "_password_file"),
        (
            516,
            "a: Authentication failed: password is incorrect.\n\nIf you use ClickHouse Cloud, go",
            "a: Authentication failed: password is incorrect",
            "_password_file",
        ),
        (497, "a: Not enough privileges. To execute", "a: Not enough privileges", "grant"),
        (243, "Cannot reserve 1.00 MiB, not enough space", "Cannot reserve 1.00 MiB", "own log"),
    ],
)
@pytest.mark.parametrize("stack", ["", ". Stack trace:\n\n0. /lib/libclickhouse.so(f()+0x1) [0x7]"])
def test_a_servers_complaint_is_told_without_its_stack(code, text, reason, mend, stack):
    told = trouble(ServerException(f"DB::Exception: {text}{stack}", code))
    assert told.startswith(reason)
    assert mend in told.rpartition("; ")[2]
    assert "\n" not in told and "Stack" not in told and "DB::" not in told


@pytest.mark.parametrize(
    "error",
    [
        NetworkError("Connection refused (localhost:1)"),
        SocketTimeoutError("(localhost:1)"),
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError("Unexpected EOF while reading bytes"),
        TimeoutError(),
    ],
)
def test_a_server_that_is_away_is_to_be_looked_for(error):
    reason, _, mend = trouble(error).rpartition("; ")
    assert reason
    assert mend == "see that it runs, and answers there"
