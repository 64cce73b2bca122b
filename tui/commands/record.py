"""sluice record: what the console shows, written to a file, without a screen."""

from __future__ import annotations

from pathlib import Path

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import checked_duration, config_option, max_mib_option, timeout_option


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@config_option
@max_mib_option
@click.option(
    "--for",
    "duration",
    metavar="DURATION",
    callback=checked_duration,
    help="Time after which it ends: 90s, 30m, 2h, 7d. Default: until a signal ends it.",
)
@timeout_option(5.0)
def record(file: Path, config: str, max_mib: int, duration: str | None, timeout: float) -> int:
    """Record what the console shows, without a screen, to replay it later.

    FILE is made, or continued if it is a recording. SIGTERM, Ctrl-C and the end of the terminal
    stop it once the last snapshot is written. `sluice console --replay FILE` shows it. It holds
    names of topics, groups and hosts, but no password and nothing of any record.
    """
    from replicator.config.topology import load
    from replicator.runtime.logs import log_to_stderr
    from tui.facts.watch.live_source import LiveSource
    from tui.orders.durations import milliseconds
    from tui.recording import unattended

    appliance = load(config)
    log_to_stderr()
    is_written = unattended.record(
        file,
        max_mib * 2**20,
        lambda tell: LiveSource(appliance, timeout, on_problem=tell),
        None if duration is None else milliseconds(duration) / 1000,
    )
    return ExitCode.DONE if is_written else ExitCode.FAILED
