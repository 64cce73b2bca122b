"""Frames: bytes of snapshots, and those of other versions."""

import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.recording.samples import full, partition, route, snapshots
from tui.facts.snapshot import Snapshot
from tui.recording.frame import VERSION, Frame, Kind, Packer, snapshot_of, tables_of
from tui.recording.tables import Damaged, Tables


@given(st.lists(st.tuples(snapshots, st.booleans()), min_size=1, max_size=4))
def test_any_sequence_of_snapshots_comes_back_equal(series: list[tuple[Snapshot, bool]]) -> None:
    packer, tables = Packer(), None
    for snapshot, is_whole in series:
        frame = packer.packed(snapshot, is_whole=is_whole)
        tables = tables_of(frame, tables)
        assert snapshot_of(tables) == snapshot
        assert frame.at == snapshot.taken_at


def test_the_first_frame_is_whole_and_the_next_ones_are_differences() -> None:
    packer = Packer()
    kinds = [packer.packed(full(), is_whole=each).kind for each in (False, False, True)]
    assert kinds == [Kind.WHOLE, Kind.DIFFERENCE, Kind.WHOLE]


def test_a_difference_of_a_quiet_appliance_is_small() -> None:
    quiet = Snapshot(taken_at=1.0, routes=(route(*map(partition, range(1000))),))
    packer = Packer()
    packer.packed(quiet, is_whole=True)
    assert len(packer.packed(replace(quiet, taken_at=3.0), is_whole=False).content) < 200


def test_a_name_that_is_no_text_is_written_with_question_marks() -> None:
    odd = replace(full(), routes=(replace(full().routes[0], why="half \ud800 a pair"),))
    found = snapshot_of(tables_of(Packer().packed(odd, is_whole=True), None))
    assert found.routes[0].why == "half ? a pair"
    assert found == replace(odd, routes=(replace(odd.routes[0], why="half ? a pair"),))


def test_a_frame_of_an_earlier_version_is_upgraded_step_by_step() -> None:
    """There is no earlier version yet, so two are made up: -1 and 0."""

    def to_0(tables: Tables) -> Tables:
        return {**tables, "": {**tables[""], "ways": tables[""]["paths"]}}

    def to_1(tables: Tables) -> Tables:
        return {**tables, "": {**tables[""], "routes": tables[""]["ways"]}}

    tables = tables_of(Packer().packed(full(), is_whole=True), None)
    tables[""]["paths"] = tables[""].pop("routes")
    assert VERSION == 1
    assert snapshot_of(tables, -1, {-1: to_0, 0: to_1}) == full()


@pytest.mark.parametrize(
    "content", [b"", b"text", zlib.compress(b"text"), zlib.compress(b"[]"), zlib.compress(b"{}")]
)
def test_a_frame_that_cannot_be_unpacked_is_damaged(content: bytes) -> None:
    with pytest.raises(Damaged):
        snapshot_of(tables_of(Frame(1.0, Kind.WHOLE, content), None))


def test_a_difference_without_a_frame_before_it_is_damaged() -> None:
    with pytest.raises(Damaged, match="no frame before it"):
        tables_of(Frame(1.0, Kind.DIFFERENCE, b""), None)
