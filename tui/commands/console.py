"""sluice console: everything that an operator has to see and steer, in one terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import max_mib_option, optional_config_option, timeout_option
from tui.commands.output import say


@click.command()
@optional_config_option
@click.option("--steer", is_flag=True, help="Offer what changes something; it is confirmed first.")
@click.option("--record", metavar="FILE", help="Record what is shown, to replay it later.")
@max_mib_option
@click.option("--replay", metavar="FILE", help="Show a recording; no server is asked.")
@click.option("--keys", metavar="FILE", help='Other keys, in TOML: lines such as freeze = "F".')
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@timeout_option(5.0)
def console(
    config: str | None,
    steer: bool,
    record: str | None,
    max_mib: int,
    replay: str | None,
    keys: str | None,
    no_mouse: bool,
    timeout: float,
) -> int:
    """Show routes, groups, plans, balance, alerts, feeds and events; keys are on the screen.

    It only reads, unless --steer is given. What it starts then goes on without it. Exits with 2
    without a terminal, with 143 after SIGTERM and with 129 after a hangup.
    """
    check(config, steer, record, replay)
    from tui.console.keys_file import BadKeys, keymap_of
    from tui.console.terminal import why_no_terminal

    try:
        keymap = keymap_of(keys)
    except BadKeys as error:
        raise click.UsageError(f"--keys: {error}") from None
    why_not = why_no_terminal(sys.stdin, sys.stdout, os.environ.get("TERM", ""))
    if why_not is not None:
        say(why_not)
        return ExitCode.USAGE
    from tui.console.app import ConsoleApp
    from tui.console.run import run
    from tui.console.settings import ConsoleSettings
    from tui.console.source import Opened
    from tui.console.textual_internals import StdoutDriver

    shown = Path(replay or config or "")
    settings = ConsoleSettings(
        file=shown.name,
        is_steering=steer,
        is_replay=replay is not None,
        has_mouse=not no_mouse,
        keymap=keymap,
        export_folders=(Path(), shown.absolute().parent),
    )

    def opening() -> Opened:
        # In a thread of the console: this takes seconds, and the first frame does not wait for it.
        from tui.console.opening import LiveOptions, opened_live, opened_replay

        if replay is not None:
            return opened_replay(shown)
        options = LiveOptions(
            config=shown,
            timeout_seconds=timeout,
            record=None if record is None else Path(record),
            max_bytes=max_mib * 2**20,
            tell=app.tell,
            jobs_key=keymap.key("jobs"),
        )
        return opened_live(options)

    app = ConsoleApp(settings, opening, driver=StdoutDriver)
    return run(app)


def check(config: str | None, steer: bool, record: str | None, replay: str | None) -> None:
    """Raises UsageError for options that do not go together."""
    if replay is None and config is None:
        raise click.UsageError("either --config or --replay")
    if replay is not None and steer:
        raise click.UsageError("a replay changes nothing: leave out --steer")
    if replay is not None and record is not None:
        raise click.UsageError("a replay is a recording already: leave out --record")
