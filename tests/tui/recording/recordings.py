"""Recordings for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tui.facts.snapshot import Snapshot
from tui.recording.frame import Packer
from tui.recording.recorder import Group, Marker
from tui.recording.recording_file import RecordingFile

MAX_BYTES = 64 * 2**20


def recorded(path: Path, snapshots: Iterable[Snapshot], max_bytes: int = MAX_BYTES) -> Path:
    """Makes a recording of these snapshots, or adds them to it; returns its path."""
    file = RecordingFile.open(path, max_bytes)
    packer, marker, group = Packer(), Marker(), Group()
    for each in snapshots:
        frame = packer.packed(each, is_whole=group.is_full(max_bytes))
        group = group.with_frame(frame)
        file.append(frame, marker.mark(each))
    file.close()
    return path
