"""Rule for whole frames: when the next frame of a recording should be whole.

A group of frames is a whole one and the differences after it. Whoever shows a frame unpacks its
group from the beginning, and the oldest groups go as a whole. So groups stay short, in frames and
in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui.recording.frame import Frame, Kind

FRAMES_MAX = 300
DIFFERENCES_PER_WHOLE_MAX = 2.0
"""Limit of the differences' bytes, as a multiple of the whole frame's.

Where everything moves, a difference takes as many bytes as a whole frame, and is as slow to unpack.
"""
GROUP_PART_MAX = 0.2
"""Part of the recording that a group may take: the others stay when the oldest one goes."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sizes of the group that is being written; an empty one has to begin with a whole frame."""

    frames: int = 0
    whole_bytes: int = 0
    difference_bytes: int = 0

    def with_frame(self, frame: Frame) -> Group:
        """Returns the group with this frame; a whole frame begins another group."""
        size = len(frame.content)
        if frame.kind is Kind.WHOLE:
            return Group(1, size, 0)
        return Group(self.frames + 1, self.whole_bytes, self.difference_bytes + size)

    def is_full(self, max_bytes: int) -> bool:
        """Returns True when the next frame should be whole.

        Args:
            max_bytes: limit of the recording.
        """
        return (
            not 0 < self.frames < FRAMES_MAX
            or self.difference_bytes > DIFFERENCES_PER_WHOLE_MAX * self.whole_bytes
            or self.whole_bytes + self.difference_bytes > GROUP_PART_MAX * max_bytes
        )
