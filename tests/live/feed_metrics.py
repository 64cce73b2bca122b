"""Metrics of a feed, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import urlopen

from aggregator.driver import metrics
from deploy.lab.process import free_port
from deploy.lab.wait import until
from tests.live.feed_ground import FeedGround

PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Scraped:
    """Metrics page at a port, of which one feed is looked at."""

    feed: str
    port: int

    def sum(self, name: str, **labels: object) -> float | None:
        """Returns the sum of a metric's samples that have these labels; None without any."""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        wanted = [f'{key}="{value}"' for key, value in {"feed": self.feed, **labels}.items()]
        found = [
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith(f"sluice_feed_{name}{{") and all(each in line for each in wanted)
        ]
        return sum(found) if found else None

    def wait(self, wanted: float, name: str, **labels: object) -> None:
        """Waits until a metric has reached a value, and no more."""
        until(lambda: (self.sum(name, **labels) or 0) >= wanted, PATIENCE_SECONDS, 0.3)
        assert self.sum(name, **labels) == wanted, (name, labels)


@contextmanager
def scraped(ground: FeedGround) -> Iterator[Scraped]:
    """Serves the metrics of a feed as `sluice aggregate` does."""
    settings = ground.appliance.aggregator.model_copy(update={"metrics_port": free_port()})
    appliance = ground.appliance.model_copy(update={"aggregator": settings})
    server = metrics.serve(appliance, "east")
    try:
        yield Scraped(ground.feed, settings.metrics_port)
    finally:
        server.stop()
