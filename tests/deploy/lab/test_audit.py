"""Comparison of acknowledged records with handled ones."""

from deploy.lab.audit import audited, behind_the_move
from deploy.lab.numbered_load import Numbered


def sent(*numbers, region="west", producer="p"):
    return [Numbered(producer, 0, number, region) for number in numbers]


def test_everything_once_and_in_order_is_exactly_once():
    audit = audited(sent(0, 1, 2), sent(0, 1, 2))
    assert audit.is_exactly_once
    assert (audit.acknowledged, audit.handled, audit.examples) == (3, 3, ())


def test_what_is_not_handled_is_missed_and_named():
    audit = audited(sent(0, 1, 2), sent(0, 2))
    assert audit.missed == 1
    assert not audit.is_complete
    assert "number=1" in audit.examples[0]


def test_what_is_read_again_is_counted_and_no_disorder():
    audit = audited(sent(0, 1, 2), sent(0, 1, 0, 1, 2))
    assert (audit.twice, audit.reordered) == (2, 0)
    assert audit.is_complete and not audit.is_exactly_once


def test_what_comes_first_behind_a_later_one_is_out_of_order():
    assert audited(sent(0, 1, 2), sent(1, 0, 2)).reordered == 1


def test_a_record_that_nobody_was_told_of_may_be_there():
    audit = audited(sent(0), sent(0, 1))
    assert audit.unacknowledged == 1
    assert audit.is_exactly_once


def test_regional_clusters_keep_an_order_each_and_what_a_lost_one_kept_back_is_counted():
    moved = [*sent(0, 1), *sent(4, 5, region="east"), *sent(2, 3)]
    assert audited(moved, moved).is_exactly_once
    assert behind_the_move(moved) == 2
    assert behind_the_move([*moved, *sent(0)]) == 2
