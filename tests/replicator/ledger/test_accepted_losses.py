import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.ledger.accepted_losses import STEPPED_OVER, goes_on_at, named_once
from replicator.ledger.loss import Loss, LossKind

OFFSETS = st.integers(0, 1000)


@given(OFFSETS, OFFSETS)
def test_what_lost_nothing_goes_on_where_the_ledger_says(position, log_start):
    assert goes_on_at(position, log_start, None, None) == position


@pytest.mark.parametrize("kind", STEPPED_OVER)
def test_what_cannot_be_carried_is_stepped_over_and_nothing_before_it(kind):
    assert goes_on_at(50, 0, Loss(kind, 50, 60), None) == 60
    assert goes_on_at(70, 0, Loss(kind, 50, 60), None) == 70
    assert goes_on_at(50, 0, Loss(kind, 50, None), None) == 50


def test_behind_a_cut_all_that_was_written_anew_is_carried():
    cut = Loss(LossKind.SOURCE_TRUNCATED, 40, 50)
    assert goes_on_at(50, 0, None, cut) == 40
    assert goes_on_at(50, 45, None, cut) == 45


def test_a_log_that_grew_past_the_cut_again_is_carried_from_the_cut():
    cut = Loss(LossKind.SOURCE_TRUNCATED, 40, 50)
    assert goes_on_at(50, 0, cut, None) == 40
    assert goes_on_at(50, 45, cut, None) == 45


def test_a_topic_created_again_is_carried_from_its_start():
    assert goes_on_at(50, 3, None, Loss(LossKind.SOURCE_RECREATED, 50, None)) == 3


def test_of_a_deleted_topic_the_place_is_kept():
    assert goes_on_at(50, 0, None, Loss(LossKind.SOURCE_DELETED, 50, None)) == 50


@given(OFFSETS, OFFSETS)
def test_what_retention_took_is_left_out_and_nothing_that_is_there(position, log_start):
    passed = Loss(LossKind.RETENTION_PASSED, position, log_start)
    assert goes_on_at(position, log_start, None, passed) == max(position, log_start)


def test_a_loss_that_is_found_once_more_is_named_once_and_in_its_place():
    first, second = Loss(LossKind.SOURCE_CORRUPT, 1, 2), Loss(LossKind.TARGET_TRUNCATED, 3, 4)
    assert named_once(first, None, second, first) == (first, second)
