"""Rule for whole frames: groups stay short, in frames and in bytes."""

from tui.recording.frame import Frame, Kind
from tui.recording.recorder import FRAMES_MAX, Group

MAX_BYTES = 1_000_000


def group(whole_bytes: int, *differences: int) -> Group:
    found = Group().with_frame(Frame(1.0, Kind.WHOLE, bytes(whole_bytes)))
    for each in differences:
        found = found.with_frame(Frame(1.0, Kind.DIFFERENCE, bytes(each)))
    return found


def test_a_group_begins_with_a_whole_frame() -> None:
    assert Group().is_full(MAX_BYTES)
    assert not group(100).is_full(MAX_BYTES)


def test_where_little_moves_a_group_has_many_frames() -> None:
    assert not group(1000, *[1] * (FRAMES_MAX - 2)).is_full(MAX_BYTES)
    assert group(1000, *[1] * (FRAMES_MAX - 1)).is_full(MAX_BYTES)


def test_where_everything_moves_a_group_is_short() -> None:
    assert not group(1000, 1000, 1000).is_full(MAX_BYTES)
    assert group(1000, 1000, 1001).is_full(MAX_BYTES)


def test_a_group_takes_a_fifth_of_the_recording_at_most() -> None:
    assert not group(150_000, 50_000).is_full(MAX_BYTES)
    assert group(150_000, 50_001).is_full(MAX_BYTES)


def test_a_whole_frame_begins_another_group() -> None:
    begun = group(1000, 5, 5).with_frame(Frame(1.0, Kind.WHOLE, bytes(700)))
    assert begun == Group(1, 700, 0)
