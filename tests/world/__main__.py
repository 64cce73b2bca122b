"""Histories by seed: `python -m tests.world FIRST COUNT [MUTATION]`.

Prints a line for each seed: records, virtual seconds, turns of the loop and requests. Ends with 1
at the first history that is wrong, after its log. Run it with PYTHONHASHSEED=0: then a seed plays
the same history in every process.
"""

from __future__ import annotations

import logging
import sys

from tests.world.checks.wrong import Wrong
from tests.world.history import play
from tests.world.mutations import MUTATIONS

MAKERS = {mutation.name: mutation.makers for mutation in MUTATIONS}


def main(first: str, count: str, *mutation: str) -> int:
    logging.disable(logging.CRITICAL)
    makers = {"makers": MAKERS[mutation[0]]} if mutation else {}
    for seed in range(int(first), int(first) + int(count)):
        try:
            found = play(seed, **makers)
        except Wrong as wrong:
            print(wrong)
            return 1
        print(
            f"seed {seed}: {found.records} records, {found.seconds:.3f} s, {found.steps} turns, "
            f"{found.requests} requests"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
