"""A carrier process that kills itself, as kill -9 would, at a named step of its way.

    python -m tests.live.dying TOLD REQUEST NTH before|after

REQUEST is a Kafka request as in "EndTxn"; `before` dies instead of sending the nth of them, `after`
when its answer has arrived and nobody has read it yet.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from replicator.kafka.connection import Connection
from tests.live.carrier_process import carry_as_told


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(request_name: str, nth: int, when: str) -> None:
    """Wraps every request of this process."""
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
