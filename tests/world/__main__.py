"""Histories by seed: `python -m tests.world FIRST COUNT [MUTATION]`.

Prints a line for each seed: records, virtual seconds, turns of the loop and requests. Ends with 1
at the first history that is wrong, after its log.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from tests.world.checks.wrong import Wrong
from tests.world.history import play
from tests.world.loss_mutations import LOSS_MUTATIONS
from tests.world.mutations import MUTATIONS
from tests.world.scene import Course
from tests.world.shrinking import shrunk

MAKERS = {it.name: it.makers for it in (*MUTATIONS, *LOSS_MUTATIONS)}


@click.command()
@click.argument("first", type=int)
@click.argument("count", type=int, default=1)
@click.argument("mutation", type=click.Choice(list(MAKERS)), required=False)
@click.option("--logs", is_flag=True, help="Print the log, with the lines of all processes.")
@click.option("--loses", is_flag=True, help="With faults that lose records.")
@click.option("--shrink", is_flag=True, help="Of a wrong history, find the deals that matter.")
def main(
    first: int, count: int, mutation: str | None, logs: bool, loses: bool, shrink: bool
) -> None:
    """Play COUNT histories from seed FIRST on, with a rule taken out by MUTATION."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of text have another order in each process otherwise.
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    logging.disable(logging.CRITICAL)
    options: dict[str, Any] = {"makers": MAKERS[mutation]} if mutation else {}
    if loses:
        options["course"] = Course(loses=True)
    for seed in range(first, first + count):
        try:
            found = play(seed, logs=logs, **options)
        except Wrong as wrong:
            wrong = _shrunk(seed, wrong, options, logs) if shrink else wrong
            click.echo("\n".join([str(wrong), *wrong.log]))
            sys.exit(1)
        if logs:
            click.echo("\n".join(found.log))
        click.echo(
            f"seed {seed}: {found.records} records, {found.seconds:.3f} s, {found.steps} turns, "
            f"{found.requests} requests"
        )


def _shrunk(seed: int, wrong: Wrong, options: dict[str, Any], logs: bool) -> Wrong:
    """Returns what is wrong with as few deals as possible."""
    last = wrong
    numbers = range(1, wrong.deals + 1)

    def is_wrong(kept: Sequence[int]) -> bool:
        nonlocal last
        # The deals after the moment at which it was wrong are left out as well.
        left_out = {*range(1, 10 * wrong.deals + 100)} - {*kept}
        click.echo(f"deals {list(kept)}", err=True)
        try:
            play(seed, left_out=left_out, logs=logs, **options)
        except Wrong as found:
            last = found
            return True
        return False

    kept = shrunk(numbers, is_wrong)
    is_wrong(kept)
    return last


if __name__ == "__main__":
    main()
