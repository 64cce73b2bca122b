import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.accepted_losses import (
    CUT_BACK,
    STEPPED_OVER,
    can_restart_at,
    ended,
    goes_on_at,
    is_endless,
    named_once,
)

OFFSETS = st.integers(0, 1000)


@given(OFFSETS, OFFSETS)
def test_without_a_loss_the_position_of_the_ledger_stays(position, log_start):
    assert goes_on_at(position, log_start, None, None) == position


@pytest.mark.parametrize("kind", STEPPED_OVER)
def test_a_loss_that_cannot_be_carried_is_skipped_and_nothing_before_it(kind):
    assert goes_on_at(50, 0, Loss(kind, 50, 60), None) == 60
    assert goes_on_at(70, 0, Loss(kind, 50, 60), None) == 70
    assert goes_on_at(50, 0, Loss(kind, 50, None), None) == 50


def test_records_written_again_after_a_truncation_are_carried():
    cut = Loss(LossKind.SOURCE_TRUNCATED, 40, 50)
    assert goes_on_at(50, 0, None, cut) == 40
    assert goes_on_at(50, 45, None, cut) == 45


@pytest.mark.parametrize("kind", CUT_BACK)
def test_a_log_that_grew_past_a_truncation_is_carried_from_the_truncation(kind):
    cut = Loss(kind, 40, 50)
    assert goes_on_at(50, 0, cut, None) == 40
    assert goes_on_at(50, 45, cut, None) == 45


def test_a_recreated_topic_is_carried_from_its_start():
    assert goes_on_at(50, 3, None, Loss(LossKind.SOURCE_RECREATED, 50, None)) == 3


def test_the_position_in_a_deleted_topic_is_kept():
    assert goes_on_at(50, 0, None, Loss(LossKind.SOURCE_DELETED, 50, None)) == 50


@given(OFFSETS, OFFSETS)
def test_records_that_retention_deleted_are_skipped_and_no_others(position, log_start):
    passed = Loss(LossKind.RETENTION_PASSED, position, log_start)
    assert goes_on_at(position, log_start, None, passed) == max(position, log_start)


def test_a_loss_that_is_found_again_is_named_once_and_in_order():
    first, second = Loss(LossKind.SOURCE_CORRUPT, 1, 2), Loss(LossKind.TARGET_TRUNCATED, 3, 4)
    assert named_once(first, None, second, first) == (first, second)


def test_a_batch_refused_before_its_records_were_named_is_tried_once_more():
    assert goes_on_at(50, 0, Loss(LossKind.TARGET_REFUSES, 50, 60), None) == 50


def test_a_corrupt_source_without_a_known_end_takes_the_operators_offset():
    endless = Loss(LossKind.SOURCE_CORRUPT, 50, None)
    assert is_endless(endless)
    assert ended(endless, 80) == Loss(LossKind.SOURCE_CORRUPT, 50, 80)
    assert ended(endless, None) == endless
    assert [at for at in range(200) if can_restart_at(endless, at, 100)] == [*range(51, 101)]


@pytest.mark.parametrize("kind", LossKind)
def test_an_operator_may_continue_within_a_skipped_loss_and_nowhere_else(kind):
    loss = Loss(kind, 50, 60)
    assert not is_endless(loss)
    possible = [at for at in range(100) if can_restart_at(loss, at, 100)]
    if kind in STEPPED_OVER:
        assert possible == [*range(50, 61)]
        assert goes_on_at(50, 0, ended(loss, 50), None) == 50
        assert goes_on_at(50, 0, ended(loss, 55), None) == 55
    else:
        assert possible == []
        assert ended(loss, 55) == loss


def test_without_a_parked_loss_there_is_nothing_to_shorten():
    assert not is_endless(None)
    assert ended(None, 80) is None


@given(OFFSETS, OFFSETS)
def test_an_operators_offset_ends_the_skipped_range(position, restart_at):
    parked = ended(Loss(LossKind.SOURCE_CORRUPT, 0, None), restart_at)
    assert goes_on_at(position, 0, parked, None) == max(position, restart_at)


@pytest.mark.parametrize("kind", STEPPED_OVER)
def test_an_operators_offset_never_extends_the_skipped_range(kind):
    assert ended(Loss(kind, 120, 121), 5000) == Loss(kind, 120, 121)
