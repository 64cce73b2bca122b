"""Folder of one run of a daemon, removed with it: Spark's scratch files, posting."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replicator.runtime.private_files import private_folder

PREFIX = "run-"


@contextmanager
def run_folder(state: Path) -> Iterator[Path]:
    """Yields an empty folder below `state`; first removes the folders that killed runs left there.

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
    """Returns True when a process of that number exists, whichever user owns it."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
