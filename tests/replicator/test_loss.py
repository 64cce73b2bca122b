"""What a look at a log says of a position in it."""

import pytest

from replicator.loss import LogView, LossKind, source_loss, target_loss


@pytest.mark.parametrize(
    ("end", "epoch_end", "begin"),
    [(100, -1, 100), (100, 100, 100), (400, 100, 100), (900, 100, 100), (100, 300, 100)],
)
def test_a_truncated_source_is_named_from_where_it_was_cut_however_far_it_grew_since(
    end: int, epoch_end: int, begin: int
) -> None:
    loss = source_loss(500, LogView(start=0, end=end, epoch_end=epoch_end))
    assert loss is not None
    assert (loss.kind, loss.begin, loss.end) == (LossKind.SOURCE_TRUNCATED, begin, 500)


def test_a_position_within_its_own_epoch_has_lost_nothing() -> None:
    assert source_loss(500, LogView(start=500, end=500, epoch_end=500)) is None
    assert source_loss(500, LogView(start=0, end=900, epoch_end=-1)) is None


def test_retention_is_named_up_to_the_first_record_left() -> None:
    loss = source_loss(5, LogView(start=8, end=20))
    assert str(loss) == "source retention passed the reader: source offsets [5, 8)"


@pytest.mark.parametrize("holds", [True, None])
def test_a_target_that_grew_and_still_has_the_mark_or_no_trace_of_it_lost_nothing(
    holds: bool | None,
) -> None:
    assert target_loss(10, LogView(start=0, end=30, mark_holds=holds)) is None


def test_a_target_whose_mark_is_gone_was_truncated_even_if_it_is_longer_now() -> None:
    loss = target_loss(10, LogView(start=0, end=30, mark_holds=False))
    assert loss is not None and loss.kind is LossKind.TARGET_TRUNCATED
