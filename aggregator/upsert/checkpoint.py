"""Checkpoint of a key coordinator: the folder in which Spark keeps the state of a table's keys.

A checkpoint is never the truth: it can be made anew from the store at any tick. So what does not
fit is left alone, and a bootstrap begins a new folder. Each folder says whose it is, and Spark's
own logs in it say which tick it holds.

    <upsert_dir>/<feed>.<table>/<run>/sluice.json    whose it is
                                      sluice.lock    locked by the process that continues it
                                      offsets/<n>    the tick of batch n, written before it
                                      commits/<n>    batch n is in the state
                                      state/         keys and versions
                                      keys.json      number of keys in the state
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from aggregator.upsert.recovery import Recovery, StateAction, TickAction, TickName
from aggregator.upsert.tick_source import BOOTSTRAP, GENERATION, TICK
from replicator.runtime.private_files import FILE_MODE, private_folder, write_private

log = logging.getLogger(__name__)

IDENTITY = "sluice.json"
KEYS = "keys.json"
LOCK = "sluice.lock"
FORM = 1
"""Version of what the state holds for a key. Another one is another checkpoint's."""


class CheckpointUnreadable(Exception):
    """A checkpoint that this version cannot continue. The state is read from the store anew."""


class CheckpointHeld(CheckpointUnreadable):
    """Another process continues a checkpoint: one that has lost the table, and has not ended."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Owner of a checkpoint.

    Args:
        parts: of the state; fixed for as long as the checkpoint is used.
        form: see FORM.
    """

    feed: str
    table: str
    generation: int
    parts: int
    form: int = FORM


@dataclass(frozen=True, slots=True)
class Committed:
    """State that a checkpoint holds.

    Args:
        tick: the newest that is in the state; a bootstrap at tick 0 commits 0.
    """

    generation: int
    tick: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoint in a folder of its own."""

    folder: Path

    def begin(self, identity: Identity) -> None:
        """Makes the folder. Raises OSError."""
        private_folder(self.folder)
        content = json.dumps(asdict(identity)).encode()
        write_private(self.folder / IDENTITY, content, is_on_disk=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the checkpoint for this process inside of the `with` block. The end of the process
        ends it too, whatever ends that.

        Raises CheckpointHeld, OSError.
        """
        file = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(file, 1000, 0).decode(errors="replace") or "unknown"
                raise CheckpointHeld(f"{self.folder} is held by {holder}") from None
            os.ftruncate(file, 0)
            os.pwrite(file, f"process {os.getpid()} of {socket.gethostname()}".encode(), 0)
            yield
        finally:
            os.close(file)

    def begun_ms(self) -> int:
        """Returns the Unix time at which the folder was made. Raises OSError."""
        return (self.folder / IDENTITY).stat().st_mtime_ns // 1_000_000

    @property
    def location(self) -> str:
        """Place of the folder, for Spark. No character of a path stands for another one there."""
        return f"file://{self.folder.resolve()}"

    def identity(self) -> Identity:
        """Returns whose the checkpoint is. Raises CheckpointUnreadable."""
        try:
            return Identity(**json.loads((self.folder / IDENTITY).read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointUnreadable(
                f"{self.folder}: {IDENTITY} cannot be read: {error}"
            ) from error

    def committed(self, identity: Identity) -> Committed | None:
        """Returns what the state holds; None before Spark has committed a batch.

        Args:
            identity: of the table, as the checkpoint must have been begun.

        Raises:
            CheckpointUnreadable: it is another table's, or files are missing or damaged.
        """
        found = self.identity()
        if found != identity:
            raise CheckpointUnreadable(f"{self.folder} is another's: {found}, not {identity}")
        batches = _numbers(self.folder / "commits")
        if not batches:
            return None
        offset = self.offset(max(batches))
        return Committed(offset[GENERATION], offset[TICK])

    def offset(self, batch: int) -> dict[str, Any]:
        """Returns the offset behind a batch. Raises CheckpointUnreadable."""
        file = self.folder / "offsets" / str(batch)
        try:
            found = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
            return {name: found[name] for name in (GENERATION, TICK, BOOTSTRAP)}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CheckpointUnreadable(f"{file} cannot be read: {error}") from error

    def keys(self) -> int | None:
        """Returns the number of keys in the state, those of deletes included; None if it was begun
        by a version that did not count them, or a power loss took the number."""
        return self._counted()[1]

    def count_keys(self, tick: int, keys: int) -> None:
        """Notes the keys of the state behind a tick. Raises OSError."""
        write_private(self.folder / KEYS, json.dumps([tick, keys]).encode())

    def add_keys(self, tick: int, new: int) -> None:
        """Adds the keys that are new in a tick, once for a tick that is folded again. Raises
        OSError."""
        counted, keys = self._counted()
        if keys is not None and counted < tick:
            self.count_keys(tick, keys + new)

    def _counted(self) -> tuple[int, int | None]:
        try:
            tick, keys = json.loads((self.folder / KEYS).read_bytes())
        except (FileNotFoundError, ValueError, TypeError):
            # It may be empty or cut, as nothing waits until it is on disk.
            return 0, None
        return tick, keys

    def give_up(self) -> None:
        """Makes the checkpoint one that cannot be continued, as its state cannot be loaded."""
        (self.folder / IDENTITY).unlink(missing_ok=True)

    def size_bytes(self) -> int:
        """Returns the bytes of all files; those that are removed meanwhile do not count."""
        return sum(_size(each) for each in self.folder.rglob("*"))


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """All checkpoints of a table, by number of the run that began each.

    Args:
        folder: of the table.
    """

    folder: Path

    def newest(self) -> Checkpoint | None:
        """Returns the checkpoint that was begun last."""
        found = _numbers(self.folder)
        return Checkpoint(self.folder / str(max(found))) if found else None

    def following(self) -> Checkpoint:
        """Returns a checkpoint behind all that there are, not begun yet."""
        return Checkpoint(self.folder / str(max(_numbers(self.folder), default=0) + 1))

    def remove_before(self, checkpoint: Checkpoint) -> None:
        """Removes all checkpoints that were begun before one."""
        for number in _numbers(self.folder):
            if number < int(checkpoint.folder.name):
                shutil.rmtree(self.folder / str(number), ignore_errors=True)


def _numbers(folder: Path) -> list[int]:
    return sorted(_named(folder))


def _named(folder: Path) -> Iterator[int]:
    """Yields the names that are numbers; unfinished files have others."""
    try:
        for each in folder.iterdir():
            if each.name.isdecimal():
                yield int(each.name)
    except FileNotFoundError:
        return


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except FileNotFoundError:
        return 0


def held_by(checkpoint: Checkpoint | None, identity: Identity) -> TickName | None:
    """Returns the tick whose state a checkpoint holds; None if it cannot be continued."""
    if checkpoint is None:
        return None
    try:
        found = checkpoint.committed(identity)
    except CheckpointUnreadable as error:
        log.warning("event=upsert-checkpoint-left %s", error)
        return None
    return TickName(found.generation, found.tick) if found else None


class ChosenCheckpoint(NamedTuple):
    """Checkpoint that a query continues, or a new one, which begins with a bootstrap."""

    checkpoint: Checkpoint
    is_new: bool


def checkpoint_for(
    checkpoints: Checkpoints, identity: Identity, decided: Recovery
) -> ChosenCheckpoint:
    """Returns the checkpoint of the next query. Raises OSError."""
    newest = checkpoints.newest()
    # The tick to be folded again has to be the one that the ledger has.
    lacks_tick = decided.state is StateAction.FOLD_AGAIN and decided.action is TickAction.REDO
    if newest is not None and decided.state is not StateAction.BOOTSTRAP and not lacks_tick:
        return ChosenCheckpoint(newest, is_new=False)
    following = checkpoints.following()
    # First, as they may be what the disk is full of.
    checkpoints.remove_before(following)
    following.begin(identity)
    return ChosenCheckpoint(following, is_new=True)
