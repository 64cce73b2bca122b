"""Console without servers, in a real terminal: each signal USR1 gives it the next snapshot.

Run as `python -m tests.live.played_console quiet|busy`. Quiet: the next ones show the same, and one
after them does not. Busy: every partition has moved. The clock stands.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

from tests.tui.console.running import FakeSource
from tests.tui.console.snapshots import NOW, healthy, many, region_gone
from tests.tui.console.values.routes import with_partitions
from tui.console.app import ConsoleApp
from tui.console.run import run
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.console.textual_internals import StdoutDriver
from tui.facts.route_view import PartitionView, RouteView, TopicView
from tui.facts.snapshot import Snapshot

REFRESHES = 4


def quiet() -> Iterator[Snapshot]:
    """Yields snapshots that show the same, then one that does not."""
    for _ in range(REFRESHES + 1):
        yield replace(healthy())
    yield region_gone()


def busy() -> Iterator[Snapshot]:
    """Yields snapshots in which everything moves. They are made before: this takes long."""
    first = many()
    yield from [
        first if number == 0 else replace(first, routes=_moved(first.routes, number))
        for number in range(REFRESHES + 1)
    ]


def _moved(routes: tuple[RouteView, ...], number: int) -> tuple[RouteView, ...]:
    return tuple(
        replace(
            route,
            topics=tuple(_moved_topic(topic, number) for topic in route.topics or ()),
            lag_records=(route.lag_records or 0) + number * 113,
            records_per_second=(route.records_per_second or 0.0) * (1 + number / 10),
            lag_history=(*route.lag_history[1:], float(number)),
            rate_history=(*route.rate_history[1:], float(number)),
        )
        for route in routes
    )


def _moved_topic(topic: TopicView, number: int) -> TopicView:
    return with_partitions(topic, (_carried(each, number) for each in topic.partitions))


def _carried(partition: PartitionView, number: int) -> PartitionView:
    step = number * (2_417 + partition.partition % 97)
    lag = 2 + (partition.partition * 31 + number * 7) % 900
    end = (partition.source_end or 0) + step
    return replace(
        partition,
        source_end=end,
        mirrored_to=end - lag,
        lag_records=lag,
        lag_seconds=lag / 800.0,
        records_per_second=1210.0 + 3 * number,
        bytes_per_second=141_000.0 + 977 * number,
        drain_seconds=lag / 230.0,
    )


def main() -> None:
    """Shows the snapshots until the console is left."""
    snapshots = quiet() if sys.argv[1] == "quiet" else busy()
    source = FakeSource(next(snapshots))
    app = ConsoleApp(
        ConsoleSettings(file="appliance.toml"),
        lambda: Opened(source=source),
        clock=lambda: NOW,
        driver=StdoutDriver,
    )
    signal.signal(signal.SIGUSR1, lambda *_: source.give(next(snapshots)))
    sys.exit(run(app))


if __name__ == "__main__":
    main()
