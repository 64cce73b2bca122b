"""Properties of every traffic history, in Redis and in ClickHouse: reads from another process,
sums, repeated writes, outages and loss."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import pytest

from balancer.demand.look_back import LookBack
from balancer.demand.window import Window
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.looks import DAY_LATER, HOUR, MINUTE, NOON, PLACES, coarse, fine, look, written

pytestmark = pytest.mark.stores

READER = """
import pickle, sys
from replicator.config.topology import Route
from replicator.placement.traffic.chosen_history import chosen_history
history = chosen_history(pickle.load(sys.stdin.buffer), Route("west", "east"))
looks = list(history.fine(int(sys.argv[1]), int(sys.argv[2])))
print(len(looks), sum(int(look.bytes.sum()) for look in looks))
"""


def test_another_process_reads_what_was_written(kept):
    looks = written(kept.of(), range(15))
    assert fine(kept.of()) == looks
    asked = [sys.executable, "-c", READER, str(NOON), str(NOON + HOUR)]
    said = subprocess.run(
        asked, input=pickle.dumps(kept.appliance), stdout=subprocess.PIPE, check=True
    )
    assert said.stdout.split() == [b"15", b"%d" % (15 * 3 * 600)]


def test_what_was_never_written_is_not_there(kept):
    kept.of().write({})
    assert fine(kept.of()) == coarse(kept.of()) == []


def test_only_windows_that_end_between_the_two_times_are_read(kept):
    looks = written(kept.of(), range(25))
    assert fine(kept.of(), NOON + 9 * MINUTE, NOON + 12 * MINUTE) == looks[9:12]
    assert fine(kept.of(), NOON + 9 * MINUTE + 1, NOON + 12 * MINUTE - 1) == looks[9:11]
    assert fine(kept.of(), 0, NOON + HOUR) == looks


def test_only_sums_that_end_between_the_two_times_are_read(kept):
    written(kept.of(), range(45))
    ends = [sums[PLACES[0]].end_ms for sums in coarse(kept.of())]
    assert ends == [NOON + at * MINUTE for at in (10, 20, 30, 40)]
    for begin_ms, end_ms in ((NOON + 10 * MINUTE, ends[2]), (NOON + 11 * MINUTE, ends[2] + 1)):
        told = coarse(kept.of(), begin_ms, end_ms)
        assert [sums[PLACES[0]].end_ms for sums in told] == ends[1:3]


def test_a_look_written_again_is_there_once(kept):
    written(kept.of(), range(12))
    looks = written(kept.of(), range(12))
    assert fine(kept.of()) == looks
    assert [sums[PLACES[0]].records for sums in coarse(kept.of())] == [600]


def test_regions_never_mix(kept):
    looks = written(kept.of("west"), range(12))
    assert fine(kept.of("east")) == coarse(kept.of("east")) == []
    written(kept.of("east"), range(2), rate=9)
    assert fine(kept.of("west")) == looks


def test_ten_minutes_are_summed_up_once_they_are_over(kept):
    history = kept.of()
    written(history, range(10), rate=3)
    assert coarse(kept.of()) == []
    written(history, [10])
    whole = Window(NOON, NOON + 10 * MINUTE, 18_000, 1800)
    assert coarse(kept.of()) == [dict.fromkeys(PLACES, whole)]


def test_a_look_over_the_border_of_ten_minutes_belongs_where_it_ends(kept):
    begin, end = NOON + 9 * MINUTE + 30_000, NOON + 10 * MINUTE + 30_000
    history = kept.of()
    history.write({PLACES[0]: Window(begin, end, 600, 60)})
    written(history, [20])
    assert coarse(kept.of()) == [{PLACES[0]: Window(begin, end, 600, 60)}]


def test_a_partition_that_was_not_always_seen_has_the_rate_of_when_it_was(kept):
    history = kept.of()
    written(history, range(3))
    written(history, range(5, 9), places=PLACES[:1])
    written(history, [10])
    [sums] = coarse(kept.of())
    assert sums[PLACES[0]] == Window(NOON + 2 * MINUTE, NOON + 9 * MINUTE, 4200, 420)
    assert sums[PLACES[1]] == Window(NOON, NOON + 3 * MINUTE, 1800, 180)


def test_whoever_writes_next_sums_up_what_was_left_when_a_writer_died(kept):
    written(kept.of(), range(25))
    written(kept.of(), [50])
    assert [sums[PLACES[0]].records for sums in coarse(kept.of())] == [600, 600, 300]


def test_two_writers_at_once_do_not_disturb_each_other(kept):
    """Two writers overlap when one takes over from another that still writes its samples."""
    others = [place._replace(topic="another") for place in PLACES[:2]]
    errors = []

    def write(minutes, places):
        try:
            written(kept.of(), minutes, places=places)
        except Exception as error:  # asserted below, as a failing thread would only end
            errors.append(error)

    writers = [
        threading.Thread(target=write, args=(range(0, 22, 2), PLACES)),
        threading.Thread(target=write, args=(range(1, 22, 2), others)),
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not errors
    assert [len(each) for each in fine(kept.of())] == [3, 2] * 11
    assert {*coarse(kept.of())[0]} >= {*PLACES}


def test_a_look_back_of_a_new_process_expects_what_the_old_one_did(kept):
    before, history = LookBack(), kept.of()
    for at in range(150):
        windows = look(at, 1 + at * 7 % 60)
        before.add(windows)
        history.write(windows)
    after = LookBack()
    now_ms = NOON + 150 * MINUTE
    for columns in kept.of().coarse(now_ms - 25 * HOUR, now_ms):
        after.add_coarse(columns)
    for columns in kept.of().fine(now_ms - HOUR, now_ms):
        after.add(columns)
    assert after.rates(now_ms) == before.rates(now_ms)
    later_ms = now_ms + 5 * HOUR
    assert after.rates(later_ms) == before.rates(later_ms) != {}


def test_whoever_empties_the_server_loses_history_and_nothing_else(kept):
    history = kept.of()
    written(history, range(12))
    kept.lose()
    assert fine(history) == coarse(history) == []
    looks = written(history, range(12, 15))
    assert fine(history) == looks


def test_a_server_that_does_not_answer_is_named(kept_apart):
    history = kept_apart.of()
    kept_apart.server.kill()
    for ask in (lambda: history.write(look(0, 1)), lambda: fine(history), lambda: coarse(history)):
        with pytest.raises(StoreUnreachable, match=str(kept_apart.server.port)) as caught:
            ask()
        assert "traffic is still measured" in str(caught.value)


def test_after_an_outage_the_same_history_goes_on_and_sums_up_what_lies_before(kept_apart):
    history, server = kept_apart.of(), kept_apart.server
    written(history, range(10))
    server.stop()
    with pytest.raises(StoreUnreachable):
        history.write(look(10, 1))
    server.start()
    server.wait_ready()
    history.write(look(10, 1))
    assert len(fine(history)) == 11
    assert [sums[PLACES[0]].records for sums in coarse(history)] == [600]
    assert coarse(history, NOON, DAY_LATER) == coarse(kept_apart.of())
