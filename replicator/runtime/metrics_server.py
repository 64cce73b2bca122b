"""Metrics server: Prometheus metrics of a daemon on a port of its own."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, start_http_server


class PortTaken(Exception):
    """The metrics port is taken. Change the port or metrics.address, or end the port's owner."""


def serve(port: int, address: str, registry: CollectorRegistry) -> Callable[[], None]:
    """Serves metrics until the returned function is called; does nothing when the port is 0.

    Collectors are called from threads of the server, once for each scrape. Raises PortTaken.
    """
    if not port:
        return lambda: None
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise PortTaken(f"metrics on {address}:{port}: {error.strerror}") from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
