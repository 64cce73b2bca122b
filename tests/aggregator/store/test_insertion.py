"""Insertions: names, options and errors of inserts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from clickhouse_driver.errors import ServerException

from aggregator.store.block_name import BlockName
from aggregator.store.identifier import quoted
from aggregator.store.insert_errors import RULES, ErrorClass, TooLate, classified
from aggregator.store.insertion import ColumnsDiffer, InsertOptions, insert_settings
from aggregator.store.server_features import ASKED, TOKEN, ServerFeatures
from replicator.clickhouse.errors import ClientSetup
from tests.replicator.clickhouse.lost_connections import LOST_CONNECTIONS

# -- An insert has the settings that make it one block, as far as the server knows them.

OLD = ServerFeatures(
    (18, 16, 1),
    frozenset(ASKED) - {TOKEN, "async_insert", "insert_quorum_parallel"},
)
NEW = ServerFeatures((26, 3, 0), frozenset(ASKED))


def settings(features: ServerFeatures, quorum: int):
    options = InsertOptions(query_id="id", quorum=quorum, token="token", timeout_seconds=10.0)
    return insert_settings(features, options, 5000)


def test_an_old_server_is_not_told_what_it_does_not_know():
    assert settings(OLD, 2) == {
        "insert_deduplicate": 1,
        "max_insert_block_size": 5000,
        "insert_quorum": 2,
        "insert_quorum_timeout": 8000,
        "receive_timeout": 10,
        "send_timeout": 10,
    }


def test_a_new_server_waits_with_the_answer_and_gets_the_token():
    assert settings(NEW, 2) == {
        **settings(OLD, 2),
        "async_insert": 0,
        "insert_quorum_parallel": 0,
        TOKEN: "token",
    }


def test_without_a_quorum_nobody_waits_for_one():
    assert settings(OLD, 0) == settings(OLD, 1)
    assert "insert_quorum" not in settings(OLD, 1)


def test_the_server_gives_up_the_quorum_before_the_client_gives_up_the_server():
    assert settings(OLD, 2)["insert_quorum_timeout"] < 10_000


# -- Each error of an insert is followed by what cannot lose or repeat a row.

SETUP = ClientSetup("feeds.flights.shards.replicas", "feeds.flights.shards.password_file")


def problem(error, *, was_sent=True, is_one_part=True):
    return classified(error, was_sent=was_sent, is_one_part=is_one_part, setup=SETUP)


def server(code, text="it says so. Stack trace:\n\n0. f()"):
    return ServerException(f"DB::Exception: {text}", code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *((code, ErrorClass.SAME_AGAIN) for code in (3, 107, 159, 202, 203, 241, 286, 319, 425)),
        *((code, ErrorClass.OTHER_REPLICA) for code in (225, 242, 289, 999)),
        (285, ErrorClass.WAIT),
        (252, ErrorClass.HOLD_TABLE),
        *((code, ErrorClass.REFRESH) for code in (16, 47, 53, 60)),
        *((code, ErrorClass.STOP) for code in (62, 81, 164, 193, 497, 516)),
        *((code, ErrorClass.STOP) for code in (6, 41, 153, 190, 395, 407)),
        (49, ErrorClass.SAME_AGAIN),
        (99_999, ErrorClass.SAME_AGAIN),
    ],
)
def test_a_code_has_its_class(code, expected):
    assert problem(server(code)).error_class is expected


@pytest.mark.parametrize("code", sorted({*RULES, 99_999}))
def test_nothing_is_stored_of_a_block_that_was_not_sent(code):
    assert not problem(server(code), was_sent=False).may_be_stored


@pytest.mark.parametrize("code", [3, 41, 159, 241, 285, 319, 394, 999, 99_999])
def test_a_sent_block_may_be_stored_unless_the_server_refuses_before_it_writes(code):
    assert problem(server(code)).may_be_stored


@pytest.mark.parametrize("code", [16, 60, 202, 216, 252, 286, 497])
def test_a_refused_block_is_not_stored(code):
    assert not problem(server(code)).may_be_stored


def test_a_quorum_that_is_taken_between_two_parts_leaves_the_first_one_stored():
    error = server(286, "Another quorum insert has been already started.")
    assert not problem(error).may_be_stored
    assert problem(error, is_one_part=False).may_be_stored
    before = server(286, "Quorum for previous write has not been satisfied yet. Status: ...")
    assert not problem(before, is_one_part=False).may_be_stored


@pytest.mark.parametrize("error", LOST_CONNECTIONS)
def test_a_lost_connection_leaves_a_sent_block_unknown_and_one_not_made_leads_elsewhere(error):
    before, after = problem(error, was_sent=False), problem(error)
    assert (before.error_class, before.may_be_stored) == (ErrorClass.OTHER_REPLICA, False)
    assert (after.error_class, after.may_be_stored) == (ErrorClass.SAME_AGAIN, True)
    assert before.leaves_replica and after.leaves_replica


def test_a_block_that_is_sent_too_late_may_have_been_stored_by_somebody_else():
    shown = problem(TooLate("late"), was_sent=False)
    assert (shown.error_class, shown.may_be_stored) == (ErrorClass.SAME_AGAIN, True)
    assert not shown.leaves_replica


def test_too_many_partitions_in_a_block_are_no_matter_of_merges():
    shown = problem(server(252, "Too many partitions for single INSERT block (more than 100)."))
    assert shown.error_class is ErrorClass.STOP
    assert shown.text.endswith("raise max_partitions_per_insert_block for the user")


def test_a_block_for_another_type_of_column_leads_to_the_schema():
    shown = problem(ColumnsDiffer("column a is of type Int8, the block has Int16"), was_sent=False)
    assert (shown.error_class, shown.code) == (ErrorClass.REFRESH, 16)


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_problem_that_waits_for_somebody_names_the_remedy_in_one_line(code):
    shown = problem(server(code))
    assert shown.text.startswith("it says so") and "\n" not in shown.text
    if shown.error_class in (ErrorClass.STOP, ErrorClass.WAIT, ErrorClass.HOLD_TABLE):
        assert "; " in shown.text


def test_a_wrong_password_names_the_settings_of_the_feed():
    shown = problem(server(193, "Wrong password for user a"), was_sent=False)
    assert shown.text == (
        "Wrong password for user a; correct the user in feeds.flights.shards.replicas or "
        "feeds.flights.shards.password_file"
    )


# -- A block has one name, whoever inserts it.

NAME = BlockName("flights", "west regional", "air-traffic", 3, "departures", 10, 20)


def test_the_name_tells_source_table_and_offsets():
    assert str(NAME) == "sluice-flights-west.regional-air-traffic-3-departures-10-20"


def test_blocks_of_two_logs_have_two_names():
    """Servers with tokens drop a block whose name they have seen."""
    names = {str(replace(NAME, incarnation=each)) for each in (None, 0, 5, 6)}
    assert names == {
        str(NAME),
        "sluice-flights-west.regional-air-traffic-3+5-departures-10-20",
        "sluice-flights-west.regional-air-traffic-3+6-departures-10-20",
    }


def test_a_part_of_the_block_has_a_name_of_its_own_that_begins_with_the_blocks():
    assert NAME.rest("ab") == f"{NAME}-rest-ab"
    assert NAME.rest("ab") != NAME.rest("cd")


# -- Names are quoted as ClickHouse reads them.


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("flights",), "`flights`"),
        (("west", "flights"), "`west`.`flights`"),
        (("a`b\\c",), "`a\\`b\\\\c`"),
    ],
)
def test_a_name_is_quoted_whatever_is_in_it(names, text):
    assert quoted(*names) == text
