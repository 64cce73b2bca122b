"""A partition without an intent begins only if nothing was loaded from it before."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from aggregator.driver.adoption_memory import Remembered
from aggregator.driver.partition_start import NotKnownYet, WithoutIntent, loss_of, parked_intent
from aggregator.intents.intent import DETAIL_CHARACTERS_MAX, decode, encode
from aggregator.intents.stored import Stored
from aggregator.loader.accepted_intents import LogToday, NoRestart, accepted
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.progress_expiry import ProgressExpiry

TOPIC, OTHER = UUID(int=1), UUID(int=2)
UNKNOWN = WithoutIntent(
    topic_id=TOPIC,
    log_start=0,
    log_end=300,
    was_adopted=False,
    remembered=None,
    is_memory_whole=False,
    expiry=ProgressExpiry(604_800.0, 604_800.0, is_known=True),
)
NOTED = replace(UNKNOWN, was_adopted=True, remembered=Remembered(TOPIC, 200, 1))
IN_LATER = replace(NOTED, remembered=Remembered(TOPIC, 200, 1, 9))
BEHIND_CUT = replace(NOTED, remembered=Remembered(TOPIC, 200, 1, 9, 220, 7))
NONE = Stored()
DOUBT = Stored(doubt="table t is empty")


def test_a_partition_of_which_the_store_proves_to_have_no_row_begins():
    assert loss_of(UNKNOWN, NONE) is None


@pytest.mark.parametrize("stored", [NONE, DOUBT, Stored(doubt="away", is_passing=True)])
def test_a_partition_that_a_whole_memory_does_not_have_begins_without_a_proof(stored):
    assert loss_of(replace(UNKNOWN, is_memory_whole=True), stored) is None


@pytest.mark.parametrize(
    ("partition", "is_asked_for_all"),
    [
        (UNKNOWN, True),
        (NOTED, True),
        (replace(NOTED, is_memory_whole=True), True),
        (replace(UNKNOWN, is_memory_whole=True), False),
    ],
)
def test_an_offset_to_go_on_from_is_named_by_all_that_was_told(partition, is_asked_for_all):
    assert partition.needs_all_told is is_asked_for_all


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_partition_with_stored_rows_parks_whatever_the_memory_says(is_whole):
    partition = replace(UNKNOWN, is_memory_whole=is_whole)
    loss = loss_of(partition, Stored(200))
    assert loss is not None and loss.kind is LossKind.INTENT_GONE
    assert "--restart-at 200 " in loss.detail


def test_a_partition_without_proof_parks_and_is_asked_for_again_while_the_doubt_passes():
    loss = loss_of(UNKNOWN, DOUBT)
    assert loss is not None and "table t is empty" in loss.detail
    with pytest.raises(NotKnownYet, match="away"):
        loss_of(UNKNOWN, Stored(doubt="away", is_passing=True))


@pytest.mark.parametrize("partition", [UNKNOWN, NOTED, replace(NOTED, remembered=None)])
def test_no_offset_is_told_before_all_replicas_have_answered(partition):
    with pytest.raises(NotKnownYet, match="away"):
        loss_of(partition, Stored(20, doubt="away", is_passing=True))


def test_a_log_that_never_had_a_record_needs_no_proof():
    assert loss_of(replace(UNKNOWN, log_end=0), DOUBT) is None
    assert loss_of(replace(UNKNOWN, log_end=None), DOUBT) is not None


@pytest.mark.parametrize(
    ("partition", "stored", "advice"),
    [
        (NOTED, NONE, "--restart-at 200 "),
        (NOTED, Stored(250), "--restart-at 250 "),
        (NOTED, Stored(150), "--restart-at 200 "),
        (NOTED, Stored(250, ends={0: 250}), "--restart-at 250 "),
        # A former log was longer.
        (IN_LATER, Stored(250, ends={0: 250}), "--restart-at 200 "),
        (IN_LATER, Stored(250, ends={0: 250, 9: 210}), "--restart-at 210 "),
        (IN_LATER, Stored(250, ends={0: 250, 9: 150}), "--restart-at 200 "),
        # What is below a cut has the name of the former log.
        (BEHIND_CUT, Stored(250, ends={7: 250}), "--restart-at 220 "),
        (BEHIND_CUT, Stored(250, ends={0: 250, 7: 215}), "--restart-at 215 "),
        (BEHIND_CUT, Stored(250, ends={7: 250, 9: 230}), "--restart-at 230 "),
        # The note is of a former log.
        (NOTED, Stored(250, ends={0: 250, 9: 30}), "--restart-at 30 "),
        (replace(NOTED, remembered=None), Stored(250, ends={0: 250, 9: 30}), "--restart-at 30 "),
        (replace(NOTED, remembered=None), Stored(250), "--restart-at 250 "),
        (replace(NOTED, remembered=None), NONE, "--restart-at ("),
        (replace(NOTED, is_memory_whole=True, log_end=0), NONE, "--restart-at 200 "),
    ],
)
def test_an_adopted_partition_parks_with_the_offset_to_go_on_at(partition, stored, advice):
    loss = loss_of(partition, stored)
    assert loss is not None and loss.kind is LossKind.INTENT_GONE and loss.end is None
    assert loss.detail.startswith(advice)
    assert "offsets.retention.minutes is 10080" in loss.detail


def test_a_partition_of_a_topic_that_was_created_again_names_that():
    loss = loss_of(replace(NOTED, topic_id=OTHER), Stored(50))
    assert loss is not None and loss.kind is LossKind.SOURCE_RECREATED
    intent = parked_intent(replace(NOTED, topic_id=OTHER), loss, "free")
    assert intent.topic_id == TOPIC
    assert accepted(intent, LogToday(OTHER, 0, 300), "free").offset == 0


def test_a_parked_intent_survives_its_commit_and_goes_on_only_where_an_operator_says():
    loss = loss_of(NOTED, Stored(250, "d" * 500))
    assert loss is not None
    intent = parked_intent(NOTED, loss, "free")
    assert (intent.custody, intent.offset, intent.transactional_id) == (
        Custody.RELEASED,
        200,
        "free",
    )
    assert intent.parked is not None and len(intent.parked.detail) <= DETAIL_CHARACTERS_MAX
    assert decode(*encode(intent)) == intent
    today = LogToday(TOPIC, 0, 300)
    with pytest.raises(NoRestart):
        accepted(intent, today, "free")
    assert accepted(intent, today, "free", 250).offset == 250


def test_a_partition_that_lost_its_intent_is_parked_under_the_name_of_its_log():
    """Otherwise it goes on under the name of a former log, whose rows are in the table."""
    noted = replace(NOTED, remembered=Remembered(TOPIC, 200, 1, 9, 150, 7))
    loss = loss_of(noted, NONE)
    assert loss is not None
    parked = parked_intent(noted, loss, "free")
    assert (parked.incarnation, parked.log_begin, parked.former) == (9, 150, 7)
    found = accepted(parked, LogToday(TOPIC, 0, 300), "free", 200, opened_at_ms=20)
    assert (found.incarnation, found.log_begin, found.former) == (9, 150, 7)
    again = replace(noted, topic_id=OTHER)
    loss = loss_of(again, NONE)
    assert loss is not None
    parked = parked_intent(again, loss, "free")
    # The clock of the operator's host may have gone back.
    assert accepted(parked, LogToday(OTHER, 0, 300), "free", opened_at_ms=8).incarnation == 10


@pytest.mark.parametrize(
    ("partition", "stored", "advice"),
    [
        # As far as rows tell.
        (
            UNKNOWN,
            Stored(250, tables={"hits": {0: 250}, "clicks": {0: 120}}),
            "--restart-at 250 repeats none, may lose records of clicks from 120 on; "
            "--restart-at 120 may repeat others (",
        ),
        (
            UNKNOWN,
            Stored(250, tables={"hits": {0: 250}, "clicks": {0: 120}, "taps": {0: 130}}),
            "--restart-at 250 repeats none, may lose records of clicks and 1 more from 120 on; ",
        ),
        # What was noted is sure: below it a table without later rows lacks none.
        (
            NOTED,
            Stored(250, tables={"hits": {0: 250}, "clicks": {0: 20}}),
            "--restart-at 250 repeats none, may lose records of clicks from 200 on; "
            "--restart-at 200 may repeat others (",
        ),
        (
            NOTED,
            Stored(150, tables={"hits": {0: 150}, "clicks": {0: 20}}),
            "--restart-at 200 goes on (",
        ),
        (NOTED, Stored(250, tables={"hits": {0: 250}}), "--restart-at 250 goes on ("),
        # Of a later log than the one that was noted: `clicks` has only rows of the former one.
        (
            NOTED,
            Stored(250, "", False, {0: 250, 9: 30}, {"hits": {0: 250, 9: 30}, "clicks": {0: 240}}),
            "--restart-at 30 repeats none, may lose records of clicks from 0 on; "
            "--restart-at 0 may repeat others (",
        ),
        (UNKNOWN, Stored(250, tables={"hits": {0: 250}}), "--restart-at 250 goes on ("),
        (
            NOTED,
            Stored(250, has_folders=True),
            "--restart-at 250 repeats none, may lose records of other folders from 200 on; "
            "--restart-at 200 may repeat others (",
        ),
        (
            replace(UNKNOWN, log_start=40),
            Stored(250, has_folders=True),
            "--restart-at 250 repeats none, may lose records of other folders from 40 on; "
            "--restart-at 40 may repeat others (",
        ),
    ],
)
def test_where_tables_or_folders_end_at_unlike_offsets_both_choices_are_told_with_their_cost(
    partition, stored, advice
):
    loss = loss_of(partition, stored)
    assert loss is not None and loss.detail.startswith(advice)


def test_both_choices_are_in_a_parked_intent_whatever_the_names_are():
    far = 10**12
    tables = {"t" * 200: {0: far}, "u" * 200: {0: far + 1}, "v" * 200: {0: far + 9}}
    partition = replace(NOTED, remembered=Remembered(TOPIC, far - 1, 1), log_end=far + 20)
    loss = loss_of(partition, Stored(far + 9, "d" * 300, tables=tables))
    assert loss is not None
    detail = decode(*encode(parked_intent(partition, loss, "free"))).parked.detail
    assert f"--restart-at {far + 9} repeats none" in detail
    assert f"; --restart-at {far - 1} may repeat others" in detail
