"""Intents behind accepted losses: nothing is skipped but what the loss names."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest

from aggregator.intents.intent import OLDER_LOGS_MAX, Intent, decode, encode
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.intents.told_markers import ToldMarkers
from aggregator.loader.accepted_intents import (
    GOES_ON,
    LogToday,
    NoRestart,
    NotAsConfirmed,
    accepted,
    overwriting,
    taken_object,
)
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

OLD, NEW = UUID(int=1), UUID(int=2)


def parked(kind, begin, end, **more):
    intent = Intent(
        custody=Custody.HELD,
        offset=100,
        tables={
            "a": TableRange(100, 150, 50, "abcd", 5),
            "b": TableRange(120, 120),
            "c": TableRange(300, 300),
        },
        reference=40,
        count=110,
        transactional_id="loader",
        topic_id=OLD,
        leader_epoch=4,
        losses=1,
        **more,
    )
    return intent.park(Loss(kind, begin, end))


def today(topic=OLD, start=0, end=1000):
    return LogToday(topic, start, end)


def test_behind_retention_the_log_start_is_next_and_later_markers_stay():
    found = accepted(parked(LossKind.RETENTION_PASSED, 100, 200), today(start=200), "free")
    assert found.offset == found.reference == 200
    assert dict(found.tables) == {"c": TableRange(300, 300)}
    assert (found.count, found.holes, found.losses, found.parked) == (0, 0, 2, None)
    assert (found.custody, found.transactional_id) == (Custody.RELEASED, "free")


def test_letters_of_what_is_read_again_are_not_taken_for_those_of_a_lost_commit():
    loss = parked(LossKind.RETENTION_PASSED, 100, 200, letters_at=7)
    assert accepted(loss, today(), "free", restart_at=99).letters_at is None


@pytest.mark.parametrize(
    ("kind", "begin", "topic", "restart_at"),
    [
        (LossKind.LOADER_FAILED, 100, OLD, None),
        (LossKind.LETTER_REFUSED, 130, OLD, None),
        (LossKind.RETENTION_PASSED, 100, OLD, None),
        (LossKind.RETENTION_PASSED, 100, OLD, 100),
        (LossKind.SOURCE_TRUNCATED, 130, OLD, None),
        (LossKind.SOURCE_TRUNCATED, 60, OLD, None),
        (LossKind.SOURCE_RECREATED, 100, NEW, None),
    ],
)
def test_letters_of_a_lost_commit_are_looked_for_behind_a_loss_too(kind, begin, topic, restart_at):
    loss = parked(kind, begin, 200, letters_at=7)
    assert accepted(loss, today(topic), "free", restart_at, opened_at_ms=9).letters_at == 7


def test_a_block_that_is_cut_by_the_loss_is_formed_of_what_is_left():
    found = accepted(parked(LossKind.RETENTION_PASSED, 100, 130), today(start=130), "free")
    assert found.tables["a"] == TableRange(130, 150, 50, "abcd", 5, before=30)


def test_of_a_recreated_topic_everything_is_loaded():
    found = accepted(parked(LossKind.SOURCE_RECREATED, 100, None), today(NEW, 7), "free")
    assert (found.offset, found.topic_id, found.leader_epoch) == (7, NEW, -1)
    assert not found.tables


def test_refused_records_are_tried_again_at_the_same_offset():
    found = accepted(parked(LossKind.RECORDS_REFUSED, 120, 121), today(), "free")
    assert found.offset == 100
    assert found.tables["a"].begin == 100


@pytest.mark.parametrize("kind", [LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_WENT_BACK])
def test_a_truncated_log_goes_on_where_it_was_cut_and_everything_behind_is_new(kind):
    found = accepted(parked(kind, 80, 100), today(end=80), "free")
    assert found.offset == 80
    assert not found.tables


def test_records_that_were_written_anew_behind_a_cut_are_loaded():
    found = accepted(parked(LossKind.SOURCE_TRUNCATED, 80, 400), today(end=5000), "free")
    assert found.offset == 80
    assert not found.tables


def test_what_was_sealed_below_a_cut_stays_sealed():
    found = accepted(parked(LossKind.SOURCE_TRUNCATED, 130, 400), today(end=5000), "free")
    assert found.offset == 100
    assert dict(found.tables) == {
        "a": TableRange(100, 130, 50, "abcd", 5, behind=20),
        "b": TableRange(120, 120),
        "c": TableRange(130, 130),
    }


OBJECT = {"records": 50, "size_bytes": 7, "crc32c": 9}
SEALED = Manifest(100, 150, **OBJECT)
LOSSES = [
    (Loss(LossKind.SOURCE_TRUNCATED, 130, 400), None, (100, 130)),
    (Loss(LossKind.RETENTION_PASSED, 100, 120), None, (120, 150)),
    (Loss(LossKind.SOURCE_CORRUPT, 110, 111), 140, (140, 150)),
]


@pytest.mark.parametrize("sealed", [SEALED, TableRange(100, 150, 50, "abcd", 5)])
@pytest.mark.parametrize(("loss", "restart_at", "left"), LOSSES)
def test_what_was_sealed_keeps_its_name_and_its_end_where_a_loss_leaves_a_part_of_its_range(
    loss, restart_at, left, sealed
):
    """An object may be complete: under another name its records would be in the bucket twice, and
    told of as less than it has it could not be restored. The insert of a block may still run, and
    nobody would wait for it under another name."""
    tables = {"x=1": sealed}
    before = Intent(
        custody=Custody.HELD, offset=100, reference=40, transactional_id="loader", tables=tables
    )
    found = accepted(before.park(loss), today(start=0), "free", restart_at, opened_at_ms=9)
    again = decode(*encode(found))
    for intent in (found, again):
        each = intent.tables["x=1"]
        assert (each.begin, each.end) == left
        assert (each.sealed_begin, each.sealed_end) == (100, 150)
        assert each.whole == sealed
    assert again == found


def test_a_loss_without_an_end_needs_an_offset():
    with pytest.raises(NoRestart):
        accepted(parked(LossKind.SOURCE_CORRUPT, 100, None), today(), "free")
    found = accepted(parked(LossKind.SOURCE_CORRUPT, 100, None), today(), "free", 140)
    assert found.offset == 140


def test_a_missing_intent_needs_an_offset():
    with pytest.raises(NoRestart):
        accepted(None, today(), "free")
    assert accepted(None, today(), "free", 5).offset == 5


def test_a_doubtful_block_is_left_as_it_is_and_its_table_goes_on_behind_it():
    found = accepted(parked(LossKind.BLOCK_DOUBTFUL, 100, 150), today(), "free")
    assert found.offset == 100
    assert found.tables["a"] == TableRange(150, 150)


def test_of_objects_counting_begins_anew_where_reading_does():
    intent = parked(LossKind.RETENTION_PASSED, 100, 200, position=900, open_records=5)
    found = accepted(intent, today(start=200), "free")
    assert (found.position, found.open_records, found.reference) == (200, 0, 200)


def test_an_object_whose_name_was_taken_is_completed_once_the_other_one_is_moved_away():
    found = accepted(parked(LossKind.OBJECT_TAKEN, 100, 150), today(), "free")
    assert (found.offset, found.tables["a"]) == (100, TableRange(100, 150, 50, "abcd", 5))


def taken(kind=LossKind.OBJECT_TAKEN, begin=120):
    """An intent with two sealed objects; the name of the second one is taken."""
    objects = {
        name: Manifest(begin, begin + 30, 30, size_bytes=10, crc32c=7)
        for name, begin in (("a", 100), ("b", 120))
    }
    intent = Intent(
        custody=Custody.HELD,
        offset=100,
        tables={**objects, "c": TableRange(200, 200)},
        reference=40,
        position=250,
        transactional_id="loader",
        topic_id=OLD,
    )
    return intent.park(Loss(kind, begin, begin + 30))


def test_only_the_object_that_was_confirmed_gives_the_content_up():
    before = taken()
    found = taken_object(before)
    assert found is not None and found[0] == "b"
    after = accepted(overwriting(before, 120, '"etag"'), today(), "free")
    assert after.tables["b"].over == '"etag"'
    assert after.tables["a"] == before.tables["a"]
    assert (after.offset, after.losses, after.parked, after.custody) == (
        100,
        1,
        None,
        Custody.RELEASED,
    )


@pytest.mark.parametrize(
    ("intent", "begin"),
    [(taken(LossKind.OBJECT_SETTINGS), 120), (taken(begin=100), 120), (taken(begin=130), 130)],
)
def test_a_partition_that_is_parked_for_something_else_by_now_is_left(intent, begin):
    with pytest.raises(NotAsConfirmed, match="look again"):
        overwriting(intent, begin, '"etag"')


def test_markers_that_are_told_elsewhere_stay_unless_the_log_behind_them_is_another_one():
    told = ToldMarkers(begin=3, base=100, count=2, digest=7)
    of = partial(parked, begin=150, end=200, told=told)
    assert accepted(of(LossKind.RETENTION_PASSED), today(), "free").told == told
    assert accepted(of(LossKind.SOURCE_RECREATED), today(NEW, 7), "free").told is None
    truncated = of(LossKind.SOURCE_TRUNCATED)
    with pytest.raises(NoRestart, match="2 folders are passed to offsets behind the cut at 150"):
        accepted(truncated, today(), "free")
    assert accepted(truncated, today(), "free", restart_at=150).told is None


@pytest.mark.parametrize("kind", [LossKind.SOURCE_RECREATED, LossKind.OBJECT_TAKEN])
def test_another_log_is_named_by_the_time_of_its_acceptance_whatever_it_was_parked_for(kind):
    first = accepted(parked(kind, 100, None), today(NEW), "free", opened_at_ms=9_000)
    assert first.incarnation == 9_000
    again = first.park(Loss(LossKind.SOURCE_RECREATED, 0, None))
    # The clock of the operator's host may have gone back.
    assert accepted(again, today(OLD), "free", opened_at_ms=8_000).incarnation == 9_001


CUTS = [LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_WENT_BACK]


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize(
    ("cut", "offset", "log"),
    [
        (80, 80, (9, 80, 7)),  # below the committed offset
        (130, 100, (9, 130, 7)),  # within a block
        (299, 100, (9, 299, 7)),  # below a marker
        (300, 100, (7, 0, 0)),  # behind all that was sealed: nothing of it can be stored
    ],
)
def test_what_was_written_anew_behind_a_cut_is_another_log_if_any_of_it_may_be_stored(
    kind, cut, offset, log
):
    found = accepted(parked(kind, cut, 400, incarnation=7), today(), "free", opened_at_ms=9)
    assert found.offset == offset
    assert (found.incarnation, found.log_begin, found.former) == log
    assert all(each.end <= max(cut, offset) for each in found.tables.values())


def test_a_second_cut_below_the_first_leaves_what_is_below_it_its_name():
    first = accepted(
        parked(LossKind.SOURCE_TRUNCATED, 130, 400, incarnation=7), today(), "", opened_at_ms=9
    )
    again = first.park(Loss(LossKind.SOURCE_TRUNCATED, 110, 130))
    found = accepted(again, today(), "free", opened_at_ms=12)
    assert (found.incarnation, found.log_begin, found.former) == (12, 110, 7)
    again = replace(first, offset=150, tables={}).park(Loss(LossKind.SOURCE_TRUNCATED, 140, 150))
    found = accepted(again, today(), "free", opened_at_ms=12)
    assert (found.incarnation, found.log_begin, found.former) == (12, 140, 9)


def test_what_is_under_way_below_a_first_cut_keeps_its_name_behind_a_second_one_above():
    """Under another name a block that is stored already would be stored again."""
    first = accepted(parked(LossKind.SOURCE_TRUNCATED, 130, 400), today(), "", opened_at_ms=9)
    between = {**first.tables, "b": TableRange(130, 170, 40), "d": Manifest(140, 200, **OBJECT)}
    again = replace(first, tables=between).park(Loss(LossKind.SOURCE_TRUNCATED, 180, 200))
    found = decode(*encode(accepted(again, today(), "free", opened_at_ms=12)))
    assert {name: found.incarnation_at(each.begin) for name, each in found.tables.items()} == {
        "a": 0,
        "b": 9,
        "c": 9,
        "d": 9,
    }
    assert [found.incarnation_at(at) for at in (100, 129, 130, 179, 180)] == [0, 0, 9, 9, 12]
    assert [found.log_end(begin, 500) for begin in (100, 130, 180)] == [130, 180, 500]
    assert found.tables["d"].whole == between["d"]
    # A third one, below them all.
    third = found.park(Loss(LossKind.SOURCE_TRUNCATED, 110, 130))
    last = accepted(third, today(), "free", opened_at_ms=15)
    assert [last.incarnation_at(at) for at in (100, 109, 110, 180)] == [0, 0, 15, 15]
    # Once nothing is under way below a cut, its names are not needed.
    settled = replace(found, offset=150, tables={}).park(Loss(LossKind.RECORDS_REFUSED, 150, 151))
    assert accepted(settled, today(), "free").older == ()


def cut_often(times):
    """Returns an intent whose log was cut as often above its block, and the last cut's offset."""
    intent, cut = parked(LossKind.SOURCE_TRUNCATED, 130, 400), 130
    for at in range(times):
        cut = 130 + 10 * at
        named = {**intent.tables, "b": TableRange(cut, cut + 10, 10)}
        loss = Loss(LossKind.SOURCE_TRUNCATED, cut, cut + 10)
        intent = replace(intent, tables=named).park(loss)
        intent = accepted(intent, today(), "", opened_at_ms=at + 9)
    return intent


def test_a_log_that_was_cut_more_often_than_an_intent_can_tell_needs_an_offset():
    intent = cut_often(OLDER_LOGS_MAX + 1)
    assert [intent.incarnation_at(100 + 10 * at) for at in range(3, 9)] == [9, 10, 11, 12, 13, 13]
    with pytest.raises(NoRestart, match="under way below the first of 6 cuts"):
        cut_often(OLDER_LOGS_MAX + 2)
    again = replace(intent, tables={**intent.tables, "b": TableRange(170, 300, 10)})
    again = again.park(Loss(LossKind.SOURCE_TRUNCATED, 180, 300))
    with pytest.raises(NoRestart):
        accepted(again, today(), "free")
    found = accepted(again, today(), "free", 140, opened_at_ms=99)
    assert [found.incarnation_at(at) for at in (140, 150, 179, 180)] == [10, 11, 13, 99]


def test_where_a_restored_log_begins_to_differ_the_operator_names():
    gone_back = parked(LossKind.SOURCE_WENT_BACK, 400, None, incarnation=7)
    found = accepted(gone_back, today(), "free", 60, opened_at_ms=9)
    assert (found.offset, found.incarnation, found.log_begin, found.former) == (60, 9, 60, 7)
    assert not found.tables


@pytest.mark.parametrize("kind", [each for each in LossKind if each not in CUTS])
def test_the_same_topic_keeps_the_name_of_its_log(kind):
    found = accepted(parked(kind, 100, 150, incarnation=7), today(), "free", 150, opened_at_ms=9)
    assert found.incarnation == 7


@pytest.mark.parametrize(("epoch_end", "epoch"), [(300, 6), (50, 6), (49, -1), (-1, -1)])
def test_an_accepted_loss_is_followed_by_a_cut_that_is_noticed(epoch_end, epoch):
    """Without an epoch, a log that is cut again before it is read goes on behind other records."""
    loss = Loss(LossKind.SOURCE_TRUNCATED, 50, 80)
    intent = Intent(
        custody=Custody.RELEASED,
        offset=60,
        reference=60,
        transactional_id="loader",
        topic_id=UUID(int=1),
        leader_epoch=5,
    ).park(loss)
    found = accepted(intent, LogToday(UUID(int=1), 0, 300, 6, epoch_end), "free")
    assert (found.offset, found.leader_epoch) == (50, epoch)


GOING_ON = sorted({*GOES_ON, LossKind.BLOCK_DOUBTFUL})


@pytest.mark.parametrize("kind", GOING_ON)
def test_a_topic_that_comes_back_while_it_is_parked_for_something_else_is_loaded_whole(kind):
    found = accepted(parked(kind, 100, 150), today(NEW, 7), "free", opened_at_ms=9)
    assert (found.offset, found.incarnation, dict(found.tables)) == (7, 9, {})


@pytest.mark.parametrize("kind", GOING_ON)
def test_a_log_that_was_cut_while_it_was_parked_is_compared_by_the_epoch_of_before(kind):
    """Records that were written anew below the offset would be left out by the epoch of today."""
    log = LogToday(OLD, 0, 1000, leader_epoch=6, epoch_end=1000)
    assert accepted(parked(kind, 100, 150), log, "free").leader_epoch == 4


@pytest.mark.parametrize(("read_end", "cut"), [(90, 90), (110, 110), (150, 130), (-1, 130)])
def test_a_log_that_was_cut_again_while_its_partition_was_parked_is_read_from_the_lower_cut(
    read_end, cut
):
    """Records behind the end of what was read are others, in the log of today."""
    cut_once = parked(LossKind.SOURCE_TRUNCATED, 130, 400, incarnation=7)
    log = LogToday(OLD, 0, 1000, 6, 1000, read_end=read_end)
    found = accepted(cut_once, log, "free", opened_at_ms=9)
    assert found.offset == min(cut, 100)
    assert (found.incarnation, found.log_begin, found.former) == (9, cut, 7)
    assert all(each.end <= cut for each in found.tables.values())
    # A topic of another id has no part of the former log.
    assert accepted(cut_once, replace(log, topic_id=NEW), "free").offset == 0


@pytest.mark.parametrize("kind", [each for each in LossKind if each not in CUTS])
def test_a_log_that_was_cut_while_its_partition_was_parked_for_something_else_is_noticed(kind):
    """The takeover compares the log with the epoch of what was read."""
    log = LogToday(OLD, 0, 1000, 6, 1000, read_end=90)
    found = accepted(parked(kind, 100, 150), log, "free", 150)
    assert found.leader_epoch == 4
    unread = replace(parked(kind, 100, 150), leader_epoch=-1)
    assert accepted(unread, log, "free", 150).leader_epoch == 6
