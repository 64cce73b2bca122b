"""Check whether anybody listens at the addresses of a cluster, before a client asks it.

Kafka clients try again and again until their time is over; this tells at once that every address
refuses connections.
"""

from __future__ import annotations

import asyncio
import os

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminUnreachable


def check_listening(name: str, cluster: KafkaCluster, timeout_seconds: float) -> None:
    """Returns once an address accepts a connection, or the time is over. Blocking.

    Must not be called from an event loop.

    Args:
        name: of the cluster, for people.

    Raises:
        AdminUnreachable: every address refused, or its host name is not known.
    """
    reason = asyncio.run(_refusal(cluster.bootstrap, timeout_seconds))
    if reason:
        text = f"connecting: no answer from {cluster.bootstrap_servers} ({reason})"
        raise AdminUnreachable(name, f"{text}; is it up, and is the address right?")


async def _refusal(addresses: tuple[str, ...], timeout_seconds: float) -> str:
    """Returns the last address's reason; "" if one address accepted, or not all answered."""
    attempts = [asyncio.create_task(_connect(address)) for address in addresses]
    reason = ""
    try:
        async with asyncio.timeout(timeout_seconds):
            for attempt in asyncio.as_completed(attempts):
                reason = await attempt
                if not reason:
                    return ""
    except TimeoutError:
        return ""
    finally:
        for task in attempts:
            task.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
    return reason


async def _connect(address: str) -> str:
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError as error:
        # Not the error's own text, which asyncio replaces. Host names have errors below zero.
        number = error.errno or 0
        return os.strerror(number) if number > 0 else str(error)
    writer.close()
    return ""
