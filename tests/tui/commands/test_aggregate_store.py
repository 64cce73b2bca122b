"""`sluice aggregate sweep`, `overwrite` and `forget`, without servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.intents.table_range import Manifest
from aggregator.loader.reports import FeedPartition
from aggregator.objects.forgotten import Log
from aggregator.s3.object_store import Found, Upload
from aggregator.s3.upload_sweep import Fate, JudgedUpload
from tests.aggregator.restore.told import told
from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands.aggregate_store import (
    forgetting_text,
    forgetting_values,
    overwrites_text,
    overwrites_values,
    sweep_text,
    sweep_values,
)
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_objects import DroppedObjects, Forgetting, Overwrites, Sweep, TakenObject
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
MANIFEST = Manifest(7, 14, 7, "", 1_700_000_000_000, size_bytes=2049, crc32c=0x4C5A3041)
TAKEN = TakenObject(
    FeedPartition("east aggregate", "flights", 3),
    "topics/flights/partition=3/flights+3+0000000007.zstd.parquet",
    MANIFEST,
    Found(16, 0x7DEB70DA, {}, '"etag"', 1.7e9),
)
FREE = TakenObject(FeedPartition("east aggregate", "flights", 4), "topics/other", MANIFEST, None)
UPLOADS = tuple(
    JudgedUpload(Upload(f"topics/t/p=0/t+0+{at:010}.parquet", f"id-{at}", 1.7e9 + at), fate)
    for at, fate in enumerate([Fate.STALE, Fate.YOUNG, Fate.NEEDED, Fate.FOREIGN])
)
OBJECTS = [
    replace(told(0, 10), told_at_ms=1_700_000_000_000),
    replace(told(10, 15, left_out=5), told_at_ms=1_700_000_001_000, size_bytes=0),
    replace(told(20, 40, left_out=1), told_at_ms=1_700_000_009_000),
]
DROPPED = DroppedObjects.of(Log.of(OBJECTS[0]), OBJECTS)


@pytest.mark.parametrize("command", ["sweep", "overwrite", "forget --older-than 30d"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "x"], "no feed 'x'; known: flights"),
        (["--feed", "flights"], "feed flights has no objects: its kind is clickhouse"),
        (["--feed", "flights", "--partition", "1"], "--partition needs --topic"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    config, capsys, command, arguments, message
):
    assert run(["aggregate", *command.split(), "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_the_age_from_which_on_objects_are_forgotten_has_to_be_named(config, capsys):
    words = ["aggregate", "forget", "--config", config, "--feed", "flights"]
    assert run(words) == ExitCode.USAGE
    assert "--older-than" in capsys.readouterr().err


def test_both_contents_are_shown(assert_snapshot):
    assert_snapshot(overwrites_text(Overwrites((TAKEN, FREE))), "overwrites")
    assert overwrites_text(Overwrites()) == "no name of an object is taken by another content"
    shown = overwrites_text(
        Overwrites(continued=(TAKEN,), left={FREE.partition: "its name is free"})
    )
    assert shown == (
        f"is written over: {TAKEN.key}\nleft as it is: east aggregate flights 4: its name is free"
    )


def test_values_have_both_contents():
    found = overwrites_values(Overwrites((TAKEN, FREE), left={FREE.partition: "why"}))
    taken, free = found["taken"]
    assert (taken["there"]["size_bytes"], taken["sealed"]["size_bytes"]) == (16, 2049)
    assert taken["there"]["written_at"] == taken["sealed"]["sealed_at"] == "2023-11-14T22:13:20Z"
    assert free["there"] is None
    assert found["left"][0]["partition"] == 4


def test_own_uploads_are_shown_and_others_are_counted(assert_snapshot):
    assert_snapshot(sweep_text(Sweep(UPLOADS, is_dry=False)), "sweep")
    assert "would be aborted: nothing needs it" in sweep_text(Sweep(UPLOADS, is_dry=True))
    assert sweep_text(Sweep((), is_dry=False)) == "no upload of the feed is open"


def test_values_have_all_uploads():
    found = sweep_values(Sweep(UPLOADS, is_dry=False))
    assert [each["fate"] for each in found["uploads"]] == ["aborted", "left", "left", "left"]
    assert found["uploads"][0]["begun_at"] == "2023-11-14T22:13:20Z"
    assert sweep_values(Sweep(UPLOADS, is_dry=True))["uploads"][0]["fate"] == "would be aborted"


def test_dropped_objects_are_counted_by_log(assert_snapshot):
    assert_snapshot(forgetting_text(Forgetting((DROPPED,), is_done=False)), "forgetting")
    assert forgetting_text(Forgetting((DROPPED,), is_done=True)).endswith("\n\nforgotten")
    assert (
        forgetting_text(Forgetting((), is_done=True))
        == "nothing to forget: the bucket has all objects of this age that the feed has passed"
    )


def test_values_of_forgotten_objects_have_the_same():
    found = forgetting_values(Forgetting((DROPPED,), is_done=True))
    assert found["is_done"]
    (value,) = found["forgotten"]
    assert (value["objects"], value["records"], value["size_bytes"]) == (2, 29, 2000)
    assert (value["begin"], value["end"]) == (0, 40)
    assert value["first_told_at"] == "2023-11-14T22:13:20Z"
