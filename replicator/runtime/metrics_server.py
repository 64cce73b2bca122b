"""Metrics server: Prometheus metrics of a daemon on a port of its own."""

from __future__ import annotations

import logging
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server

log = logging.getLogger(__name__)


class MetricsServer:
    """Server of one daemon's metrics.

    Collectors are called from threads of the server, once for each scrape.

    Args:
        port: 0: nothing is served.
    """

    def __init__(self, port: int, address: str, registry: CollectorRegistry) -> None:
        self._port, self._address, self._registry = port, address, registry
        self._running: tuple[WSGIServer, Thread] | None = None

    @property
    def is_serving(self) -> bool:
        return self._running is not None

    def start(self) -> None:
        """Serves metrics until `stop`, if there is a port.

        A port that is taken is only logged: a daemon works without metrics too.
        """
        if not self._port:
            return
        try:
            self._running = start_http_server(self._port, self._address, self._registry)
        except OSError as error:
            log.error(
                "event=no-metrics metrics on %s:%d: %s", self._address, self._port, error.strerror
            )

    def stop(self) -> None:
        """Ends serving, if it has begun."""
        if self._running is not None:
            server, thread = self._running
            self._running = None
            server.shutdown()
            server.server_close()
            thread.join()
