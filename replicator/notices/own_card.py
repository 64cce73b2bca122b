"""Card of this process."""

from __future__ import annotations

import os
import socket
import time
from importlib.metadata import version

from replicator.notices.daemon_card import DaemonCard


def own_card(role: str, region: str, doing: str) -> DaemonCard:
    """Returns the card of this process, which starts now.

    Args:
        doing: for people, such as the routes that it mirrors.
    """
    return DaemonCard(
        role=role,
        region=region,
        version=version("sluice"),
        host=socket.gethostname(),
        pid=os.getpid(),
        since_ms=time.time_ns() // 1_000_000,
        doing=doing,
    )
