"""Pages of feeds: their list, one feed, its figures and its orders."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.kafka.client.loss import Loss, LossKind
from tests.tui.console.snapshots import NOW, empty, feed, healthy
from tests.tui.console.typed_actions import command_of, typed_words
from tests.tui.console.values.feeds import object_feed
from tests.tui.pages.finding_snapshots import busy_feed, findings
from tui.facts.feed_status import BlockView
from tui.pages.feed import (
    FIGURES,
    OBJECT_COLUMNS,
    PARTITION_COLUMNS,
    TABLE_COLUMNS,
    FeedPage,
    custody,
    table_rows,
)
from tui.pages.feed_figures import AGE, BUFFERED, LAG, OPEN_SECONDS, PARKED, WINDOW, percent
from tui.pages.feed_orders import NO_FEED, feed_actions
from tui.pages.feeds import COLUMNS, NO_FEEDS, FeedsPage, feed_row
from tui.pages.page import Row
from tui.pages.rows import sorts_of
from tui.steering.steered_command import NotSteered, steered

# --- Page of feeds: totals that are unknown when a part is, and the orders about a feed.

PAGE = FeedsPage()
TITLES = [each.title for each in COLUMNS]


def cells(found):
    return dict(zip(TITLES, (cell.text for cell in feed_row(found).cells), strict=True))


def test_a_feed_has_its_totals():
    found = cells(feed())
    assert (found["STATE"], found["LAG"], found["ROWS/S"], found["PARKED"]) == (
        "PARKED",
        "300",
        "1.6k",
        "1",
    )
    assert (found["INTENT S"], found["WINDOW"], found["DEAD"]) == ("-", "-", "0")


def test_a_total_with_an_unknown_part_is_unknown():
    found = cells(busy_feed())
    assert (found["LAG"], found["INTENT S"], found["WINDOW"]) == ("?", "?", "?")
    away = replace(feed(), unknown_clusters=("east regional",))
    assert (cells(away)["LAG"], cells(away)["STATE"]) == ("?", "UNKNOWN")
    assert {cells(away)[title] for title in ("PARKED", "INTENT S", "WINDOW")} == {"?"}


def test_intents_that_are_not_known_are_not_shown_as_none():
    parts = tuple(replace(each, blocks=None, custody=None, mode=None) for each in feed().partitions)
    found = cells(replace(feed(), partitions=parts[:1]))
    assert (found["INTENT S"], found["PARKED"]) == ("?", "?")


def test_the_oldest_block_stands_against_its_window():
    known = replace(busy_feed(), partitions=busy_feed().partitions[:2])
    assert (cells(known)["INTENT S"], cells(known)["WINDOW"]) == ("400", "70%")


def test_enter_leads_to_the_feed_and_notes_say_what_holds():
    row = feed_row(busy_feed())
    assert PAGE.opened(findings(), row) == FeedPage("ticks")
    assert PAGE.notes(findings(), row, NOW) == (
        "order: freeze topic orders, by ann@ops: merge",
        "problem: ticks shard 1: no answer",
    )
    assert PAGE.notes(findings(), None, NOW) == ()


def test_without_feeds_the_page_says_how_one_is_made_once_anything_is_known():
    assert PAGE.sections(replace(healthy(), feeds=()), NOW)[0].empty == NO_FEEDS
    assert PAGE.sections(empty(), NOW)[0].empty == "nothing is known yet"
    assert PAGE.title(healthy()) == "feeds   1"


def test_a_whole_feed_is_frozen_and_resumed_by_its_name():
    actions = {each.key: each for each in PAGE.actions(findings(), feed_row(busy_feed()), NOW)}
    path, values = command_of(actions["H"])
    assert (path, values["feed_name"], values["reason"]) == (
        "aggregate freeze",
        "ticks",
        "load test",
    )
    assert (values["cluster"], values["topic"], values["duration"]) == (None, None, "30m")
    assert command_of(actions["R"])[0] == "aggregate resume"
    assert actions["H"].confirmation == actions["R"].confirmation == "ticks"


def test_a_feed_into_s3_has_open_objects_in_the_place_of_shards_and_windows():
    found = cells(object_feed())
    assert (found["SHARDS"], found["WINDOW"], found["OPEN S"]) == ("S3", "-", "300")
    assert cells(feed())["OPEN S"] == "-"


# --- Page of a feed: tables, verdicts, partitions, blocks on their way.

FEED_PAGE = FeedPage("ticks")


def section(name: str, snapshot=None):
    return next(it for it in FEED_PAGE.sections(snapshot or findings(), NOW) if it.name == name)


FEED_TITLES = ("MODE", "LAG", "LAG S", "INTENT S", "WINDOW")


def test_a_partition_has_its_state_mode_progress_and_reason():
    rows = list(section("partitions").rows)
    titles = [each.title for each in PARTITION_COLUMNS]
    first = dict(zip(titles, (cell.text for cell in rows[0].cells), strict=True))
    assert (first["STATE"], first["MODE"], first["LAG"]) == ("BEHIND", "replay", "150")
    assert (first["INTENT S"], first["WINDOW"], first["COMMITTED"]) == ("400", "70%", "1,200,000")
    states = [row.cells[0].text for row in rows]
    assert states == ["BEHIND", "PARKED", "PAUSED", "UNKNOWN", "WAITS"]
    assert rows[4].why == "waiting: no intent yet"
    assert (rows[0].feed, rows[0].topic, rows[0].region) == ("ticks", "orders", "west")


def test_what_is_unknown_is_not_0():
    (unknown,) = section("partitions").only(FEED_TITLES).rows[3:4]
    assert [cell.text for cell in unknown.cells] == ["?", "?", "0.9", "?", "?"]


@pytest.mark.parametrize("title", [each.title for each in PARTITION_COLUMNS])
def test_every_column_sorts_as_its_cells_do(title):
    rows = section("partitions").rows
    at = [each.title for each in PARTITION_COLUMNS].index(title)
    assert sorts_of(rows, title, at) == [row.cells[at].sort for row in rows]


def test_the_cursor_begins_on_the_partition_of_an_alert():
    named = FeedPage("ticks", "west aggregate", "orders", 1)
    assert named.cursor == ("partitions", list(section("partitions").rows)[1].key)
    assert FEED_PAGE.cursor is None


def test_notes_tell_the_blocks_that_are_on_their_way():
    row = section("partitions").rows[0]
    place, block = FEED_PAGE.notes(findings(), row, NOW)
    assert place == (
        "orders-0 in west aggregate: loaded to 1,200,000 of 1,200,150, loader 1, custody held"
    )
    assert block == (
        "on its way: o: offsets 100 to 499, 400 records, sealed 6:40 ago, 70% of the window"
    )
    assert FEED_PAGE.notes(findings(), Row(key="0 o", cells=()), NOW) == ()


def test_a_shard_without_an_answer_says_so():
    *_, away = section("tables").rows
    assert (away.why, away.is_fault) == ("no replica of shard 1 answers", True)
    shown = [cell.text for cell in away.cells]
    assert shown == ["ticks", "ticks.?", "1", "?", "?", "?", "?", "?"]


def test_a_table_that_recognizes_no_block_and_no_row_is_a_fault():
    (shard,) = feed().shards
    (table,) = shard.tables or ()
    plain = replace(table.state, window_blocks=0, has_coordinates=False)
    (row,) = table_rows("ticks", replace(shard, tables=(replace(table, state=plain),)))
    shown = table_texts(row)
    assert (shown["WINDOW S"], shown["COORDINATES"], row.is_fault) == ("none", "no", True)
    forever = replace(table.state, window_seconds_max=None, blocks_per_second=0.0)
    (row,) = table_rows("ticks", replace(shard, tables=(replace(table, state=forever),)))
    assert (table_texts(row)["WINDOW S"], row.is_fault) == ("any", False)


def table_texts(row):
    return dict(
        zip((each.title for each in TABLE_COLUMNS), (it.text for it in row.cells), strict=True)
    )


def test_verdicts_of_the_verifier_are_the_newest_first_with_both_entries():
    found = section("verdicts")
    first, second = found.rows
    assert [cell.text for cell in first.cells[:3]] == ["1:00", "anomaly", "orders-3"]
    assert first.is_fault and not second.is_fault
    assert "before: none; after: offset 30" in first.why
    assert section("verdicts", replace(findings(), feeds=(feed(),))).empty == "not known"
    quiet = replace(findings(), feeds=(replace(feed(), findings=()),))
    assert section("verdicts", quiet).empty.startswith("none")


def test_a_feed_that_is_gone_says_so():
    gone = replace(healthy(), feeds=())
    assert FEED_PAGE.title(gone) == "feed ticks   not known"
    (only,) = FEED_PAGE.sections(gone, NOW)
    assert only.empty == "no feed ticks"
    assert FEED_PAGE.title(findings()) == "feed ticks   region west, 5 partitions"


def test_actions_are_about_the_partition_under_the_cursor_or_the_feed():
    row = section("partitions").rows[1]
    assert FEED_PAGE.actions(findings(), row, NOW)[0].confirmation == "orders-1"
    assert FEED_PAGE.actions(findings(), None, NOW)[0].confirmation == "ticks"
    assert busy_feed().partitions[1].partition == 1


def test_a_frozen_partition_has_that_for_its_custody_unless_it_is_parked():
    loaded, stuck = feed().partitions
    assert custody(loaded) == "held"
    assert custody(replace(loaded, frozen="by ann")) == "frozen"
    assert custody(replace(stuck, frozen="by ann")) == "parked"


def test_a_feed_into_s3_has_open_objects_in_the_place_of_tables():
    snapshot = replace(healthy(), feeds=(object_feed(),))
    verdicts, partitions = FeedPage("lake").sections(snapshot, NOW)
    assert (verdicts.name, partitions.name) == ("verdicts", "partitions")
    titles = [each.title for each in OBJECT_COLUMNS]
    first, second = (
        dict(zip(titles, (cell.text for cell in row.cells), strict=True)) for row in partitions.rows
    )
    assert (first["STATE"], first["OPEN"], first["OPEN S"]) == ("OK", "3", "300")
    assert (second["STATE"], second["OPEN"], second["OPEN S"]) == ("PARKED", "0", "-")
    for at, title in enumerate(titles):
        found = sorts_of(partitions.rows, title, at)
        assert found == [row.cells[at].sort for row in partitions.rows], title


# --- Figures of feeds: what is unknown of one partition is unknown of them all.

LOADED, STUCK = feed().partitions
OLD = BlockView(table="o", begin=1, end=5, records=4, age_seconds=400.0, window_used=0.7)
WAITING = replace(LOADED, blocks=(OLD,))


def texts(group):
    return AGE.cell(group).full, WINDOW.cell(group).full


def test_the_oldest_block_counts_and_none_is_no_unknown_one():
    assert AGE.cell([LOADED]).text == WINDOW.cell([LOADED]).text == "-"
    assert texts([LOADED, WAITING]) == ("400.0", "70%")
    unknown = [LOADED, replace(LOADED, blocks=None)]
    assert AGE.cell(unknown).text == WINDOW.cell(unknown).text == "?"


def test_an_unknown_figure_is_no_number():
    unknown = BUFFERED.cell([LOADED, replace(LOADED, buffered_bytes=None)])
    assert (unknown.text, unknown.sort) == ("?", None)
    assert BUFFERED.cell([replace(LOADED, buffered_bytes=3 << 19)]).text == "1.5"


def test_the_screen_has_short_numbers_and_the_text_of_commands_exact_ones():
    cell = LAG.cell([replace(LOADED, lag_records=47_103), LOADED])
    assert (cell.text, cell.full, cell.sort) == ("47.3k", "47253", 47_253)


def test_parked_partitions_are_counted_and_coloured():
    assert (PARKED.cell([LOADED, STUCK]).text, PARKED.cell([STUCK]).tone) == ("1", "bad")
    assert PARKED.cell([LOADED]).tone == ""


def test_objects_have_an_age_while_one_is_open():
    opened, none = object_feed().partitions
    assert OPEN_SECONDS.cell([opened, none]).full == "300.0"
    assert OPEN_SECONDS.cell([none]).text == "-"


UNKNOWN = replace(LOADED, blocks=None, lag_records=None, mode=None, custody=None)


@pytest.mark.parametrize("figure", [PARKED, *FIGURES.values()], ids=["PARKED", *FIGURES])
@pytest.mark.parametrize("each", [LOADED, WAITING, STUCK, UNKNOWN, *object_feed().partitions])
def test_a_partition_sorts_as_its_cell_does(figure, each):
    assert figure.of(each) == figure.cell((each,)).sort


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_of_no_partitions_nothing_is_known(figure):
    assert (figure.cell(()).text, figure.cell(()).sort) == ("?", None)


@pytest.mark.parametrize(
    ("part", "text", "tone"),
    [(0.256, "26%", ""), (0.3, "30%", ""), (0.5, "50%", "warn"), (1.0, "100%", "bad")],
)
def test_a_part_of_a_window_gets_worse_as_it_passes(part, text, tone):
    cell = WINDOW.cell([replace(LOADED, blocks=(replace(OLD, window_used=part),))])
    assert (cell.text, cell.tone, percent(None)) == (text, tone, "?")


# --- Actions on feeds and their partitions: the real commands, and why one is off.

REPLAY, TOO_LARGE, FROZEN, *_ = busy_feed().partitions


def actions(found, partition=None):
    return {each.label: each for each in feed_actions(found, partition)}


def test_a_partition_is_frozen_with_all_that_names_it():
    freeze = actions(busy_feed(), REPLAY)["freeze"]
    path, values = command_of(freeze, **{"for": "2h", "table": "o"})
    assert path == "aggregate freeze"
    named = [values[name] for name in ("feed_name", "cluster", "topic", "partition", "table")]
    assert named == ["ticks", "west aggregate", "orders", 0, "o"]
    assert (values["duration"], freeze.confirmation) == ("2h", "orders-0")


def test_only_what_is_frozen_is_resumed():
    assert actions(busy_feed(), REPLAY)["resume"].why_off == "nothing of it is frozen"
    assert actions(feed())["resume"].why_off == "nothing of it is frozen"
    assert actions(busy_feed())["resume"].why_off is None
    path, values = command_of(actions(busy_feed(), FROZEN)["resume"])
    assert (path, values["partition"]) == ("aggregate resume", 2)


def test_losses_are_accepted_in_a_shell_only():
    accept = actions(busy_feed(), TOO_LARGE)["accept loss"]
    assert accept.is_copied and not accept.changes
    path, values = command_of(accept)
    assert (path, values["topic"], values["yes"]) == ("aggregate accept-loss", "orders", False)
    with pytest.raises(NotSteered):
        steered(accept.words)
    assert actions(busy_feed(), REPLAY)["accept loss"].why_off == "nothing here is parked"
    assert actions(busy_feed())["accept loss"].why_off is None


def test_a_name_that_is_taken_is_overwritten_in_a_shell_only():
    """Accepting the loss would only park the partition again."""
    taken = replace(TOO_LARGE, parked=str(Loss(LossKind.OBJECT_TAKEN, 180, 270)))
    found = actions(busy_feed(), taken)
    assert "accept loss" not in found
    path, values = command_of(found["overwrite"])
    assert found["overwrite"].is_copied
    assert (path, values["topic"], values["confirm"]) == ("aggregate overwrite", "orders", False)


@pytest.mark.parametrize("label", ["freeze", "resume"])
def test_the_console_runs_the_others(label):
    action = actions(busy_feed(), FROZEN)[label]
    assert steered(typed_words(action))[0] == action.words[:2]


@pytest.mark.parametrize("label", ["freeze", "resume", "accept loss"])
def test_no_field_can_change_what_the_confirmation_names(label):
    action = actions(busy_feed(), FROZEN)[label]
    assert {field.name for field in action.fields} <= {"table", "reason", "for"}
    assert command_of(action)[1]["partition"] == 2
    assert command_of(actions(busy_feed())[label])[1]["partition"] is None


def test_without_a_feed_everything_is_off():
    assert {each.why_off for each in feed_actions(None)} == {NO_FEED}
