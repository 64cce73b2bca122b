"""Opening of the console's source: a live one that asks servers, or a replay."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from replicator.config.topology import load
from tui.console.interpreter import keep_imported
from tui.console.source import Opened
from tui.console.steered_jobs import SteeredJobs
from tui.pages.jobs import left_behind

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = "jobs"
"""Name of the folder of jobs in the state folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """Options of a console that asks servers.

    Args:
        record: file to record to; None: nothing is recorded.
        max_bytes: size of that file, at most.
        tell: takes texts for people, from any thread.
        jobs_key: key that shows the jobs.
    """

    config: Path
    timeout_seconds: float
    record: Path | None
    max_bytes: int
    tell: Callable[[str], None]
    jobs_key: str = "b"


def opened_live(options: LiveOptions) -> Opened:
    """Loads the configuration and makes the source that asks its servers."""
    from tui.facts.watch.live_source import LiveSource

    appliance = load(str(options.config))
    keep_imported()
    jobs = SteeredJobs(appliance.replicator.state_dir / JOBS, options.config)
    left = left_behind(jobs.jobs(), time.time())
    if left:
        options.tell(f"{left}   {options.jobs_key} jobs")
    recorder = None
    if options.record is not None:
        from tui.recording.recorder import Recorder

        recorder = Recorder(options.record, options.max_bytes, options.tell)
    source = LiveSource(appliance, options.timeout_seconds)
    return Opened(source=source, jobs=jobs, recorder=recorder)


def opened_replay(path: Path) -> Opened:
    """Opens a recording to play it."""
    from tui.recording.reader import Reader
    from tui.recording.replay import Replay

    replay = Replay(Reader(path))
    return Opened(source=replay, replay=replay)
