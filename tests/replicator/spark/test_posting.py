"""Claims about postings: the reader sees a whole posting, and the one that was posted."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.spark.driver_command import Term
from replicator.spark.posting import ApplianceFile, Posting, PostingFile, needs_new_epoch

TERM = Term(4000, 1)
PLAN = Plan(7, {CarrierId("west.east", 0): (TopicPartition("orders", 3),)})


def test_a_posting_is_read_as_it_was_written(tmp_path):
    file = PostingFile(tmp_path / "posting.json")
    assert file.read() is None
    refusing = {"orders": ("INVALID_RECORD",), "clicks": ()}
    full = Posting(PLAN, 2, TERM, {"orders": 2048}, stop=True, refusing=refusing)
    for posting in (Posting(PLAN, 2, TERM), full):
        file.write(posting)
        assert file.read() == posting


def test_a_posting_half_written_is_never_seen(tmp_path, monkeypatch):
    file = PostingFile(tmp_path / "posting.json")
    before, after = Posting(PLAN, 2, TERM), Posting(PLAN, 3, TERM)
    file.write(before)
    seen, replace = [], Path.replace

    def read_meanwhile(unfinished, path):
        whole = unfinished.read_bytes()
        unfinished.write_bytes(whole[: len(whole) // 2])
        seen.append(file.read())
        unfinished.write_bytes(whole)
        return replace(unfinished, path)

    monkeypatch.setattr(Path, "replace", read_meanwhile)
    file.write(after)
    assert seen == [before]
    assert file.read() == after


def of_topics(*topics, slots=2, **limits):
    """Returns a posting with one partition of each topic, each on a carrier of its own."""
    loads = {
        CarrierId("west.east", number): (TopicPartition(topic, 0),)
        for number, topic in enumerate(topics)
    }
    return Posting(Plan(7, loads), slots, TERM, limits)


@pytest.mark.parametrize(
    "after",
    [
        of_topics("orders", "clicks", orders=5, clicks=5),
        of_topics("orders", orders=5, clicks=7),
        of_topics("orders", "clicks", slots=2, orders=5, denied=9),
        of_topics("orders", slots=3, orders=5),
    ],
    ids=["a topic comes", "of a topic that nobody carries", "another", "a slot nobody needs"],
)
def test_what_carriers_were_told_holds_on(after):
    assert not needs_new_epoch(of_topics("orders", orders=5), after)


@pytest.mark.parametrize(
    "after",
    [
        of_topics("orders", "clicks", orders=6, clicks=5),
        of_topics("orders", "clicks", "more", slots=3, orders=5, clicks=5),
        of_topics("orders", slots=1, orders=5),
    ],
    ids=["a limit of what stays", "a task more", "a task less, of which the new plan needs one"],
)
def test_what_carriers_were_told_holds_no_more(after):
    assert needs_new_epoch(of_topics("orders", "clicks", orders=5, clicks=5), after)


def test_what_is_posted_is_for_its_owner_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        PostingFile(tmp_path / "posting.json").write(Posting(PLAN, 2, TERM))
        ApplianceFile(tmp_path / "appliance.pickle").write(SimpleNamespace())
    finally:
        os.umask(before)
    found = {it.name: stat.S_IMODE(it.stat().st_mode) for it in tmp_path.iterdir()}
    assert found == {"posting.json": 0o600, "appliance.pickle": 0o600}


def test_an_epoch_begins_once_a_topic_refuses_other_records() -> None:
    def refusing(*names: str) -> Posting:
        return Posting(PLAN, 2, TERM, refusing={"orders": names, "gone": ()})

    assert needs_new_epoch(refusing("INVALID_RECORD", "INVALID_TIMESTAMP"), refusing())
    assert needs_new_epoch(refusing("INVALID_RECORD"), refusing("INVALID_TIMESTAMP"))
    # The posting that says so must be there before the config is gone again.
    assert needs_new_epoch(refusing(), refusing("INVALID_RECORD"))
    assert not needs_new_epoch(refusing("INVALID_RECORD"), refusing("INVALID_RECORD"))
