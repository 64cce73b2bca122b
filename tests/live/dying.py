"""A carrier process that kills itself, as kill -9 would, at a given request.

    python -m tests.live.dying TOLD REQUEST NTH before|after

REQUEST is the name of a Kafka request, such as "EndTxn". With `before` the process dies instead of
sending the nth of them. With `after` it dies once the answer has arrived, before the carrier uses
it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from replicator.kafka.client.connection import Connection
from tests.live.carrier_process import carry_as_told


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(request_name: str, nth: int, when: str) -> None:
    """Wraps Connection.send of this process."""
    send = Connection.send
    seen = 0

    def counted(connection: Any, request: Any, expect_response: bool = True) -> Any:
        nonlocal seen
        is_step = type(request).__name__ == f"{request_name}Request"
        seen += is_step
        if not is_step or seen < nth:
            return send(connection, request, expect_response)
        if when == "before":
            die()
        return dead_after(send(connection, request, expect_response))

    Connection.send = counted


async def dead_after(answer: Awaitable[Any]) -> Any:
    await answer
    die()


if __name__ == "__main__":
    _, told, request_name, nth, when = sys.argv
    die_at(request_name, int(nth), when)
    carry_as_told(Path(told))
