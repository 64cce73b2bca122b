"""Histories by seed: `python -m tests.world FAMILY FIRST [COUNT] [--mutation NAME] [--seconds S]`.

Families: see docs/simulation.md. Prints a line for each seed: records, virtual seconds and
turns of the loop. Ends with 1 at the first history that is wrong, after its log.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from tests.world.checks.wrong import Wrong
from tests.world.families import FAMILIES, HistoryRequest
from tests.world.replay import Replay
from tests.world.shrinking import shrunk


@click.command()
@click.argument("family", type=click.Choice(list(FAMILIES)))
@click.argument("first", type=int)
@click.argument("count", type=int, default=1)
@click.option("--mutation", metavar="NAME", help="Play with a rule taken out.")
@click.option("--seconds", type=float, help="End load and faults so early, as make check does.")
@click.option("--logs", is_flag=True, help="Print the log, with the lines of all processes.")
@click.option("--shrink", is_flag=True, help="Of a wrong history, find the deals that matter.")
def main(
    family: str,
    first: int,
    count: int,
    mutation: str | None,
    seconds: float | None,
    logs: bool,
    shrink: bool,
) -> None:
    """Play COUNT histories of a FAMILY from seed FIRST on."""
    found = FAMILIES[family]
    names = [*found.mutations]
    if mutation and mutation not in names:
        raise click.BadParameter(f"{mutation!r} is none of: {', '.join(names)}")
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of text have another order in each process otherwise.
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    logging.disable(logging.CRITICAL)
    for seed in range(first, first + count):
        asked = HistoryRequest(family, seed, mutation, Replay(logs=logs), seconds)
        try:
            result = found.play(asked)
        except Wrong as wrong:
            last = _shrunk(asked, wrong) if shrink else wrong
            click.echo("\n".join([str(last), *last.log]))
            sys.exit(1)
        if logs:
            click.echo("\n".join(result.log))
        click.echo(
            f"seed {seed}: {result.records} records, {result.seconds:.3f} s, {result.steps} turns"
        )


def _shrunk(asked: HistoryRequest, wrong: Wrong) -> Wrong:
    """Returns what is wrong with as few deals as possible."""
    last = wrong
    # Deals that would come after the moment at which it was wrong are left out as well.
    numbers = range(1, 10 * wrong.deals + 100)

    def is_wrong(kept: Sequence[int]) -> bool:
        nonlocal last
        click.echo(f"deals {list(kept)}", err=True)
        again = replace(asked.replay, left_out={*numbers} - {*kept}, dice=wrong.dice)
        try:
            FAMILIES[asked.family].play(replace(asked, replay=again))
        except Wrong as found:
            last = found
            return True
        return False

    is_wrong(shrunk(range(1, wrong.deals + 1), is_wrong))
    return last


if __name__ == "__main__":
    main()
