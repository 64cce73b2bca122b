"""The folder of one run of a daemon, gone with it: Spark's scratch files, checkpoint, posting."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replicator.daemon.private_files import private_folder

PREFIX = "run-"


@contextmanager
def run_folder(state: Path) -> Iterator[Path]:
    """An empty folder below `state`; what killed runs left there is cleared away first.

    Raises OSError: `state` cannot be written to, or others may write to it.
    """
    private_folder(state)
    for left in state.glob(f"{PREFIX}*"):
        if not is_running(left.name.removeprefix(PREFIX)):
            shutil.rmtree(left, ignore_errors=True)
    folder = state.resolve() / f"{PREFIX}{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    private_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_running(process: str) -> bool:
    """Whether a process of that number exists, whoever owns it."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
