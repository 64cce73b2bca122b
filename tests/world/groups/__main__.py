"""Histories of groups by seed: `python -m tests.world.groups FIRST COUNT [MUTATION]`.

Prints a line for each seed: records, plans that were compared, how many of them were exact, moves
that were made, records that were skipped, and turns of the loop. Ends with 1 at the first history
that is wrong, after its log.
"""

from __future__ import annotations

import logging
import os
import sys

import click

from tests.world.checks.wrong import Wrong
from tests.world.groups.group_history import play_groups
from tests.world.groups.mutations import MUTATIONS

TAKEN_OUT = {mutation.name: mutation.take_out for mutation in MUTATIONS}


@click.command()
@click.argument("first", type=int)
@click.argument("count", type=int, default=1)
@click.argument("mutation", type=click.Choice(list(TAKEN_OUT)), required=False)
def main(first: int, count: int, mutation: str | None) -> None:
    """Play COUNT histories from seed FIRST on, with a rule taken out by MUTATION."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    logging.disable(logging.CRITICAL)
    if mutation:
        TAKEN_OUT[mutation]()
    for seed in range(first, first + count):
        try:
            click.echo(play_groups(seed))
        except Wrong as wrong:
            click.echo(wrong)
            sys.exit(1)


if __name__ == "__main__":
    main()
