"""Every loss is found, named and measured; where nothing is lost, nothing is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.loss import (
    LogView,
    Loss,
    LossKind,
    source_loss,
    target_loss,
    went_back,
)

offsets = st.integers(0, 100)


def view(start=0, end=100, **more):
    return LogView(start=start, end=end, **more)


@given(offsets, offsets, offsets)
def test_a_position_inside_the_log_is_no_loss(start, position, end):
    start, position, end = sorted((start, position, end))
    assert source_loss(position, view(start, end)) is None
    assert source_loss(position, view(start, end, epoch_end=position)) is None


@pytest.mark.parametrize(
    ("position", "log", "kind", "begin", "end"),
    [
        (5, view(10, 100), LossKind.RETENTION_PASSED, 5, 10),
        (50, view(0, 40), LossKind.SOURCE_TRUNCATED, 40, 50),
        (50, view(0, 80, epoch_end=30), LossKind.SOURCE_TRUNCATED, 30, 50),
        (50, view(0, 80, topic_id_differs=True), LossKind.SOURCE_RECREATED, 50, None),
    ],
)
def test_a_sources_losses_have_their_ranges(position, log, kind, begin, end):
    loss = source_loss(position, log)
    assert (loss.kind, loss.begin, loss.end) == (kind, begin, end)
    assert loss.kind.at_source


@pytest.mark.parametrize(
    ("log", "kind", "begin", "end"),
    [
        (view(0, 100), None, 0, 0),
        (view(0, 80), None, 0, 0),
        (view(0, 79), LossKind.SOURCE_TRUNCATED, 79, 80),
        (view(0, 200, epoch_end=60), LossKind.SOURCE_TRUNCATED, 60, 80),
        (view(55, 200, epoch_end=60), LossKind.SOURCE_TRUNCATED, 60, 80),
        (view(55, 200), LossKind.RETENTION_PASSED, 50, 55),
        (view(0, 200, topic_id_differs=True), LossKind.SOURCE_RECREATED, 50, None),
    ],
)
def test_a_log_that_was_cut_below_what_is_sealed_behind_the_position_is_found(
    log, kind, begin, end
):
    loss = source_loss(50, log, sealed_end=80)
    assert (loss and (loss.kind, loss.begin, loss.end)) == (kind and (kind, begin, end))


@pytest.mark.parametrize(
    ("log", "kind", "begin"),
    [
        (view(0, 40), LossKind.TARGET_TRUNCATED, 40),
        (view(0, 80, mark_holds=False), LossKind.TARGET_TRUNCATED, 0),
        (view(0, 80, topic_id_differs=True), LossKind.TARGET_RECREATED, 0),
    ],
)
def test_a_targets_losses_have_their_ranges(log, kind, begin):
    loss = target_loss(50, log)
    assert (loss.kind, loss.begin, loss.end) == (kind, begin, 50)
    assert not loss.kind.at_source


@pytest.mark.parametrize("holds", [True, None])
def test_a_target_that_reaches_the_entry_is_no_loss(holds):
    assert target_loss(50, view(0, 50, mark_holds=holds)) is None
    assert target_loss(50, view(70, 80, mark_holds=holds)) is None


@pytest.mark.parametrize("kind", LossKind)
def test_a_loss_names_its_side_and_its_offsets(kind):
    side = "source" if kind.at_source else "target"
    assert str(Loss(kind, 3, 9)) == f"{kind.value}: {side} offsets [3, 9)"
    assert str(Loss(kind, 3, None, "why")) == f"{kind.value}: {side} offsets [3, ?): why"


def test_refused_and_restamped_records_are_named_by_their_source_offsets():
    """The carrier that names the records knows their source offsets. In the target they have none,
    or none that is known."""
    for kind in (LossKind.RECORDS_REFUSED, LossKind.TARGET_REFUSES, LossKind.TIMES_CHANGED):
        assert kind.at_source
    at_target = {kind.name for kind in LossKind if not kind.at_source}
    assert at_target == {
        "TARGET_TRUNCATED",
        "TARGET_DELETED",
        "TARGET_RECREATED",
        "TARGET_TAIL_DELETED",
        "WRITER_FORGOTTEN",
    }


@given(offsets, offsets)
def test_a_source_that_went_back_names_the_missing_range_if_there_is_one(position, end):
    loss = went_back(position, end, (5, 3))
    assert loss.begin == min(position, end)
    assert loss.end == (position if end < position else None)
    assert "leader epoch 3 after 5" in str(loss)
    assert loss.kind.at_source
