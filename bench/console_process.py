"""Console of a large appliance whose servers are pretended: everything moves, nobody is asked.

Run by bench.console in a pseudo-terminal as `python -m bench.console_process FILE`; at its end it
writes what it measured of itself to FILE. Questions keep their cadences and threads; answers are
made as a client would make them, from the JSON of carriers' reports on.
"""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tui.console.app import ConsoleApp
from tui.console.interpreter import keep_imported
from tui.console.run import run
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.console.textual_internals import StdoutDriver

LOOK_SECONDS = 0.01
"""Time between two looks whether the screen's thread is held. They are part of the CPU measured."""


@dataclass
class Figures:
    """Figures of the process itself.

    Args:
        refreshes: snapshots that were made.
        cpu_seconds, seconds: of the measured window.
        held_ms: longest times for which the screen's thread did not come to run, in order.
    """

    refreshes: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    held_ms: tuple[float, ...] = ()
    rss_mib: float = 0.0


class Measured(ConsoleApp):
    """Console that measures itself from its first snapshot on."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.figures = Figures()
        self._began: tuple[float, float] | None = None
        self._late: list[float] = []
        self._refreshes = 0

    def on_load(self) -> None:
        """Begins to look at the screen's thread."""
        self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(LOOK_SECONDS)
            if self._began is not None:
                self._late.append(time.perf_counter() - before - LOOK_SECONDS)

    def begin(self) -> None:
        """Begins the window in which no key is pressed."""
        self._began = time.perf_counter(), _cpu_seconds()
        self._refreshes = 0
        self._late.clear()

    def _came(self, snapshot: Any) -> None:
        self._refreshes += 1
        super()._came(snapshot)

    def end(self) -> None:
        """Ends that window."""
        if self._began is not None:
            self.figures.seconds = time.perf_counter() - self._began[0]
            self.figures.cpu_seconds = _cpu_seconds() - self._began[1]
            self.figures.refreshes = self._refreshes

    def exit(self, *result: Any, **more: Any) -> None:
        """Notes the figures of the whole run, then ends."""
        worst = sorted(self._late, reverse=True)[:10]
        self.figures.held_ms = tuple(round(each * 1000, 1) for each in worst)
        self.figures.rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        super().exit(*result, **more)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def opened() -> Opened:
    """Makes the source; imports what the console imports in its thread."""
    from bench.pretended_servers import pretended_source

    source = pretended_source()
    keep_imported()
    return Opened(source=source)


def main(path: str) -> None:
    """Runs the console until it is left, then writes its figures."""
    app = Measured(ConsoleSettings(file="bench.toml"), opened, driver=StdoutDriver)
    signal.signal(signal.SIGUSR1, lambda *_: app.begin())
    signal.signal(signal.SIGUSR2, lambda *_: app.end())
    run(app)
    Path(path).write_text(json.dumps(asdict(app.figures)))


if __name__ == "__main__":
    main(sys.argv[1])
