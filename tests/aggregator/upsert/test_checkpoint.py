"""Checkpoint: whose it is, and which tick it holds, or that it cannot be continued."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.upsert.checkpoint import (
    Checkpoint,
    CheckpointHeld,
    Checkpoints,
    CheckpointUnreadable,
    Committed,
    Identity,
    checkpoint_for,
    held_by,
)
from aggregator.upsert.recovery import Recovery, StateAction, TickAction

OWN = Identity("flights", "flight_status", generation=3, parts=2)


def checkpoint(folder: Path, *, planned: int, committed: int, begin: int = 7) -> Checkpoint:
    """Returns a checkpoint as Spark leaves it: batch 0 is a bootstrap."""
    found = Checkpoints(folder).following()
    found.begin(OWN)
    for name, batches in (("offsets", planned), ("commits", committed)):
        logs = found.folder / name
        logs.mkdir()
        for batch in range(batches):
            offset = {"generation": 3, "tick": begin + batch, "bootstrap": batch == 0}
            text = json.dumps(offset) if name == "offsets" else '{"nextBatchWatermarkMs":0}'
            (logs / str(batch)).write_text(f'v1\n{{"conf":{{}}}}\n{text}\n')
        (logs / ".9.unfinished.tmp").touch()
    return found


def test_a_checkpoint_holds_the_tick_of_the_last_batch_that_spark_committed(tmp_path):
    assert checkpoint(tmp_path, planned=4, committed=3).committed(OWN) == Committed(3, 9)
    assert checkpoint(tmp_path, planned=1, committed=1).committed(OWN) == Committed(3, 7)


def test_nothing_is_committed_before_the_bootstrap_is_over(tmp_path):
    assert checkpoint(tmp_path, planned=1, committed=0).committed(OWN) is None
    fresh = Checkpoints(tmp_path).following()
    fresh.begin(OWN)
    assert fresh.committed(OWN) is None


@pytest.mark.parametrize(
    "other", [{"table": "other"}, {"feed": "other"}, {"generation": 4}, {"parts": 4}, {"form": 2}]
)
def test_a_checkpoint_of_another_table_generation_or_form_is_told(tmp_path, other):
    found = checkpoint(tmp_path, planned=2, committed=2)
    with pytest.raises(CheckpointUnreadable, match="is another's"):
        found.committed(replace(OWN, **other))


@pytest.mark.parametrize("missing", ["sluice.json", "offsets/1"])
@pytest.mark.parametrize("content", [None, "", "v1\n{}\n{}", "v1\n[]", "\n7"])
def test_a_damaged_checkpoint_is_told(tmp_path, missing, content):
    found = checkpoint(tmp_path, planned=2, committed=2)
    if content is None:
        (found.folder / missing).unlink()
    else:
        (found.folder / missing).write_text(content)
    with pytest.raises(CheckpointUnreadable, match=missing):
        found.committed(OWN)


def test_a_checkpoint_of_a_release_with_another_form_of_identity_is_told(tmp_path):
    found = checkpoint(tmp_path, planned=2, committed=2)
    (found.folder / "sluice.json").write_text('{"feed": "flights", "newer": 1}')
    with pytest.raises(CheckpointUnreadable, match="newer"):
        found.committed(OWN)


def test_a_checkpoint_that_was_given_up_is_continued_by_nobody(tmp_path):
    found = checkpoint(tmp_path, planned=2, committed=2)
    found.give_up()
    found.give_up()
    with pytest.raises(CheckpointUnreadable):
        found.committed(OWN)
    assert Checkpoints(tmp_path).following().folder.name == "2"


def test_the_newest_checkpoint_is_the_one_that_was_begun_last(tmp_path):
    checkpoints = Checkpoints(tmp_path / "flights.flight_status")
    assert checkpoints.newest() is None
    for number in range(1, 12):
        begun = checkpoints.following()
        begun.begin(OWN)
        assert checkpoints.newest() == begun
        assert begun.folder.name == str(number)
    checkpoints.remove_before(begun)
    assert [each.name for each in checkpoints.folder.iterdir()] == ["11"]


def test_the_size_of_a_checkpoint_is_that_of_its_files(tmp_path):
    found = checkpoint(tmp_path, planned=0, committed=0)
    before = found.size_bytes()
    (found.folder / "offsets" / "0").write_bytes(b"x" * 100)
    assert found.size_bytes() == before + 100


def decided(state: StateAction, action: TickAction = TickAction.CUT) -> Recovery:
    return Recovery(action, 7, state, "")


def test_keys_of_a_tick_that_is_folded_again_are_counted_once(tmp_path):
    found = checkpoint(tmp_path, planned=2, committed=1)
    found.add_keys(8, 5)
    assert found.keys() is None
    found.count_keys(7, 100)
    for tick, new in ((8, 5), (8, 5), (9, 1)):
        found.add_keys(tick, new)
    assert found.keys() == 106


@pytest.mark.parametrize("content", [b"", b"[7, 1", b"[7]", b"7", bytes(9)])
def test_a_number_of_keys_that_a_power_loss_took_is_not_known(tmp_path, content):
    found = checkpoint(tmp_path, planned=2, committed=1)
    (found.folder / "keys.json").write_bytes(content)
    found.add_keys(8, 5)
    assert found.keys() is None
    found.count_keys(9, 100)
    assert found.keys() == 100


def test_a_state_that_fits_is_continued_and_any_other_begins_in_a_folder_of_its_own(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    first = checkpoint_for(checkpoints, OWN, decided(StateAction.BOOTSTRAP))
    assert first.is_new and first.checkpoint.identity() == OWN
    kept = checkpoint_for(checkpoints, OWN, decided(StateAction.KEEP))
    assert not kept.is_new and kept.checkpoint == first.checkpoint
    again = checkpoint_for(checkpoints, OWN, decided(StateAction.FOLD_AGAIN))
    assert not again.is_new
    second = checkpoint_for(checkpoints, OWN, decided(StateAction.BOOTSTRAP))
    assert second.is_new and not first.checkpoint.folder.exists()


def test_a_tick_that_the_ledger_has_no_more_is_not_folded_again(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoint_for(checkpoints, OWN, decided(StateAction.BOOTSTRAP))
    found = checkpoint_for(checkpoints, OWN, decided(StateAction.FOLD_AGAIN, TickAction.REDO))
    assert found.is_new


def test_a_checkpoint_of_another_table_holds_nothing(tmp_path):
    checkpoint = Checkpoint(tmp_path / "1")
    checkpoint.begin(OWN)
    assert held_by(checkpoint, replace(OWN, table="others")) is None
    assert held_by(checkpoint, OWN) is None, "no batch is committed yet"
    assert held_by(None, OWN) is None


HOLDER = """
import sys
from pathlib import Path
from aggregator.upsert.checkpoint import Checkpoint

with Checkpoint(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_checkpoint_is_held_by_one_process_until_that_ends_whatever_ends_it(tmp_path):
    checkpoint = Checkpoint(tmp_path / "1")
    checkpoint.begin(OWN)
    command = [sys.executable, "-c", HOLDER, str(checkpoint.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        held = pytest.raises(CheckpointHeld, match=f"1 is held by process {other.pid} of ")
        with held, checkpoint.held():
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        with checkpoint.held():
            pass


def test_checkpoints_of_before_make_room_for_a_new_one(tmp_path):
    """They may be what a disk is full of, on which nothing can be begun."""
    checkpoints = Checkpoints(tmp_path)
    first = checkpoint_for(checkpoints, OWN, decided(StateAction.BOOTSTRAP)).checkpoint
    tmp_path.chmod(0o777)
    with pytest.raises(OSError, match="others may write"):
        checkpoint_for(checkpoints, OWN, decided(StateAction.BOOTSTRAP))
    assert not first.folder.exists()
