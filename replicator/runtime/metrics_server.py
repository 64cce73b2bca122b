"""Metrics server: Prometheus metrics of a daemon on a port of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable

from prometheus_client import CollectorRegistry, start_http_server

log = logging.getLogger(__name__)


def not_served() -> None:
    """Stands for the stop function of a server that does not run."""


def serve(port: int, address: str, registry: CollectorRegistry) -> Callable[[], None]:
    """Serves metrics until the returned function is called; does nothing when the port is 0.

    A port that is taken is only logged: a daemon works without metrics too. Collectors are called
    from threads of the server, once for each scrape.
    """
    if not port:
        return not_served
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        log.error("event=no-metrics metrics on %s:%d: %s", address, port, error.strerror)
        return not_served

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
