"""Parts of `.ci/run` behind `make test`: each runs only if it is going to end in time.

How long a part takes is known from the last time that it was measured (`tests/ci_parts.json`). With
`--store` the seconds of this run are written there. The commit decides which part is the first, so
that on a slow machine none is left out for long; the last lines name each one that was left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
END_SECONDS = 75 * 60.0
"""Seconds from the beginning of `.ci/run` at which its last part has to be over."""
PARTS = ("rest", "drills")
"""Targets of the Makefile."""


def in_order(commit: str) -> tuple[str, ...]:
    """Returns the parts in the order of a commit: every second commit reverses it.

    Args:
        commit: its hash, hexadecimal; "" where it is not known.
    """
    return PARTS[::-1] if int(commit or "0", 16) % 2 else PARTS


def ends_in_time(part: str, gone_seconds: float, measured: Mapping[str, float]) -> bool:
    """Returns True if the part ends in time when it takes as long as it did last."""
    return gone_seconds + measured[part] <= END_SECONDS


def run_parts(
    parts: Sequence[str],
    gone_seconds: float,
    measured: Mapping[str, float],
    make_target: Callable[[str], int],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[int, dict[str, float]]:
    """Runs the parts for which there is time, and names the others at the end.

    A part that fails keeps none of the others from being run.

    Args:
        parts: targets of the Makefile, in their order.
        gone_seconds: seconds since the beginning of `.ci/run`.
        measured: seconds that each part took when it was measured last.
        make_target: makes a target of the Makefile, and returns its exit status.

    Returns:
        1 if a part failed, else 0; and the seconds of each part that passed.
    """
    began, status = clock() - gone_seconds, 0
    seconds: dict[str, float] = {}
    left_out: list[str] = []
    for part in parts:
        at = clock()
        if not ends_in_time(part, at - began, measured):
            gone = f"{at - began:.0f} s were gone, it took {measured[part]} s"
            left_out.append(f"LEFT OUT: make {part}: NOT TESTED ({gone})")
            continue
        if make_target(part):
            status = 1
        else:
            seconds[part] = round(clock() - at)
        _say(f"make {part}: {clock() - at:.0f} s")
    _say(f"{clock() - began:.0f} s in all")
    for text in left_out:
        _say(text)
    return status, seconds


def make(target: str) -> int:
    """Makes a target of the Makefile, and returns the exit status."""
    return subprocess.run(["make", target], check=False).returncode


def head() -> str:
    """Returns the hash of the commit that is checked out; "" outside of a git repository."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def main(
    gone_seconds: str,
    *options: str,
    file: Path = FILE,
    make_target: Callable[[str], int] = make,
) -> int:
    """Runs the parts; the first argument is the number of seconds that are gone."""
    measured = json.loads(file.read_text())
    status, seconds = run_parts(in_order(head()), float(gone_seconds), measured, make_target)
    if "--store" in options:
        file.write_text(json.dumps({**measured, **seconds}, indent=2) + "\n")
    return status


def _say(text: str) -> None:
    print(f"ci: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
