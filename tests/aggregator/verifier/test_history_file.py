"""History file: what was kept is read again; without it, or with a broken one, all is read anew."""

from __future__ import annotations

import json
import logging
import stat

import pytest

from aggregator.verifier.cluster_judge import Stored
from aggregator.verifier.history_file import HistoryFile
from replicator.config.cluster_name import ClusterName
from replicator.kafka.tail.tail_position import TailPosition, Version
from replicator.runtime.private_files import FolderShared
from tests.aggregator.verifier.entries import commit, held

POSITIONS = {0: TailPosition("id", 0, 17, 4), 49: TailPosition("id", 2)}
STORED = [
    Stored("sluice.feed.flights.0", "topic", 3, 49, Version(0, 16), commit(held()), 5, 4),
    Stored("sluice.feed.flights.1", "topic", 4, 0, Version(2, 3), None, None, None),
]


@pytest.fixture
def file(tmp_path):
    return HistoryFile(tmp_path / "state", "east", ClusterName.aggregate("west"))


def test_what_was_kept_is_read_again_and_only_its_owner_reads_it(file):
    assert file.read() == ({}, [])
    file.write(POSITIONS, STORED)
    assert file.read() == (POSITIONS, STORED)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert file.path.name == "west.aggregate.json"


def test_a_file_that_has_not_changed_is_not_written_again(file):
    file.read()
    file.write(POSITIONS, STORED)
    file.path.unlink()
    file.write(POSITIONS, STORED)
    assert not file.path.exists()
    file.write({}, STORED)
    assert file.read() == ({}, STORED)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "null", '{"v":2}', '{"v":1}', '{"v":1,"positions":[],"entries":[]}'],
)
def test_a_broken_file_is_named_and_all_is_read_anew(file, text, caplog):
    file.read()
    file.path.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert file.read() == ({}, [])
    assert "history-unreadable" in caplog.text


@pytest.mark.parametrize(
    "entry", [[], ["g", "t", 0, 0, [0], None, None, None], ["g", "t", 0, 0, 5, 1, 1, 1]]
)
def test_an_entry_that_is_cut_makes_the_file_a_broken_one(file, entry):
    file.read()
    file.path.write_text(json.dumps({"v": 1, "positions": {}, "entries": [entry]}))
    assert file.read() == ({}, [])


def test_a_folder_that_others_may_write_to_is_refused(file):
    file.read()
    file.path.parent.chmod(0o777)
    with pytest.raises(FolderShared):
        file.read()
