"""Check whether anybody listens at the addresses of a cluster, before a client asks it.

Kafka clients try again and again until their time is over; this tells at once that every address
refuses connections.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import time

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminUnreachable

REFUSAL_SECONDS = 1.0
"""A refusal comes sooner; what takes longer is left to the client, with all of its own time."""


def check_listening(name: str, cluster: KafkaCluster) -> None:
    """Returns once an address accepts a connection, or REFUSAL_SECONDS are over. Blocking.

    Args:
        name: of the cluster, for people.

    Raises:
        AdminUnreachable: every address refused, or its host name is not known.
    """
    deadline = time.monotonic() + REFUSAL_SECONDS
    answers: queue.Queue[str] = queue.Queue()
    for address in cluster.bootstrap:
        # Threads that are left behind, because looking up a host name cannot be ended.
        threading.Thread(
            target=lambda it=address: answers.put(_refusal(it)), name="connect", daemon=True
        ).start()
    reason = ""
    for _ in cluster.bootstrap:
        try:
            reason = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return
        if not reason:
            return
    text = f"connecting: no answer from {cluster.bootstrap_servers} ({reason})"
    raise AdminUnreachable(name, f"{text}; is it up, and is the address right?")


def _refusal(address: str) -> str:
    """Returns why an address does not accept a connection; "" if it does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REFUSAL_SECONDS * 2).close()
    except OSError as error:
        # Host names have errors below zero.
        number = error.errno or 0
        return os.strerror(number) if number > 0 else str(error)
    return ""
