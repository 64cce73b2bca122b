"""Private files: only their owner reads them, and only their owner enters their folders.

Neither depends on the umask. A daemon unpickles one of its own files: anybody who can replace that
file runs code as the daemon's user.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class FolderShared(OSError):
    """Others may put files of their own into a folder. Correct what is named, then start again."""


def private_folder(path: Path) -> Path:
    """Returns the folder; makes it and its missing parents if it is not there.

    Raises:
        FolderShared: another user owns it, or others may write to it or to a folder above it.
        OSError: it cannot be made or read.
    """
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    found = path.stat()
    # Root, acting for an operator, enters the folders of the daemon's user.
    if found.st_uid != os.geteuid() and os.geteuid():
        raise FolderShared(f"{path} belongs to uid {found.st_uid}: chown it, or name another one")
    _refuse_writers(path, found, OTHERS_WRITE)
    path.chmod(FOLDER_MODE)
    for parent in path.resolve().parents:
        above = parent.stat()
        # With the sticky bit, no other user can replace our folder by another one.
        if not above.st_mode & stat.S_ISVTX:
            _refuse_writers(parent, above, stat.S_IWOTH)
    return path


def write_private(path: Path, content: bytes, *, is_on_disk: bool = False) -> Path:
    """Replaces the file as a whole: a reader sees the old content or the new one. Raises OSError.

    Args:
        is_on_disk: returns only once the content is on disk.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with private_file(unfinished).open("wb") as file:
            file.write(content)
            if is_on_disk:
                file.flush()
                os.fsync(file.fileno())
        return unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def private_file(path: Path) -> Path:
    """Makes a new empty file; removes an old one of that name first. Raises OSError."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE))
    return path


def _refuse_writers(path: Path, found: os.stat_result, writers: int) -> None:
    if found.st_mode & writers:
        raise FolderShared(
            f"others may write to {path} (mode {stat.S_IMODE(found.st_mode):o}): "
            f"chmod go-w {path}, after a look at what is in it"
        )
