"""Histories of a feed by seed: `python -m tests.world.sinks FIRST COUNT [MUTATION]`.

Prints a line for each seed: records, parts, virtual seconds and turns of the loop. Ends with 1 at
the first history that is wrong, after its log. Run it with PYTHONHASHSEED=0: then a seed plays the
same history in every process.
"""

from __future__ import annotations

import logging
import sys

from aggregator.loader.assembly import MAKERS
from tests.world.checks.wrong import Wrong
from tests.world.sinks.history import play
from tests.world.sinks.mutations import KNOWN, MUTATIONS
from tests.world.sinks.scene import Course

BY_NAME = {mutation.name: mutation for mutation in (*MUTATIONS, *KNOWN)}


def main(first: str, count: str, *mutation: str) -> int:
    logging.disable(logging.CRITICAL)
    found_by = BY_NAME[mutation[0]] if mutation else None
    makers = found_by.makers if found_by else MAKERS
    course = found_by.course if found_by else Course()
    for seed in range(int(first), int(first) + int(count)):
        try:
            found = play(seed, course, makers)
        except Wrong as wrong:
            print(wrong)
            return 1
        print(
            f"seed {seed}: {found.records} records, {found.parts} parts, {found.seconds:.3f} s, "
            f"{found.steps} turns"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
