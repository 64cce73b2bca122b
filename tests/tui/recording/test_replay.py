"""Replay: moves through a recording, at its pace, from mark to mark."""

import queue
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.recording.recordings import recorded
from tests.tui.recording.samples import BEGAN, alert, full, route
from tui.facts.alert import AlertState
from tui.facts.health import Health
from tui.facts.snapshot import Snapshot
from tui.recording.reader import Reader
from tui.recording.recorder import Marker
from tui.recording.replay import Playback, Replay

# --- Replay: shows the frames of a recording by time, by steps, and by what got worse.

COUNT = 10


class Player:
    """A replay with a clock that tests move, and the snapshots that it shows."""

    def __init__(self, path: Path, speed: float = 1.0) -> None:
        self.now = 0.0
        self.shown: queue.Queue[Snapshot] = queue.Queue()
        self.replay = Replay(Reader(path), clock=lambda: self.now, speed=speed)
        self.replay.start(self.shown.put)

    def number(self) -> int:
        """Returns the number of the next frame that is shown."""
        return round((self.shown.get(timeout=30).taken_at - BEGAN) / 2)

    def until(self, claim: Callable[[], bool]) -> None:
        """Waits until a claim holds."""
        for _ in range(3000):
            if claim():
                return
            time.sleep(0.01)
        raise AssertionError(self.replay.state)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.replay.wake()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    series = [full(BEGAN + 2 * number) for number in range(COUNT)]
    series[6] = replace(series[6], alerts=(alert("a"), alert("b")))
    return recorded(tmp_path / "a.rec", series)


@pytest.fixture
def player(path: Path) -> Iterator[Player]:
    player = Player(path)
    yield player
    player.replay.close()


def test_frames_are_shown_when_their_time_has_come(player: Player) -> None:
    assert player.number() == 0
    player.wait(2.0)
    assert player.number() == 1
    player.wait(1.9)
    player.wait(0.1)
    assert player.number() == 2
    assert player.shown.empty()


def test_a_higher_speed_leaves_out_the_frames_that_are_late(player: Player) -> None:
    assert player.number() == 0
    player.replay.set_speed(4.0)
    player.wait(2.0)
    assert player.number() == 4


def test_a_step_stops_playing(player: Player) -> None:
    assert player.number() == 0
    player.replay.step(3)
    assert player.number() == 3
    player.wait(100.0)
    player.replay.step(-2)
    assert player.number() == 1
    assert player.replay.state.speed == 0.0
    player.replay.set_speed(1.0)
    player.wait(2.0)
    assert player.number() == 2


def test_steps_end_at_both_ends(player: Player) -> None:
    assert player.number() == 0
    player.replay.step(99)
    assert player.number() == COUNT - 1
    player.replay.step(-99)
    assert player.number() == 0


def test_a_time_is_sought(player: Player) -> None:
    assert player.number() == 0
    player.replay.seek(BEGAN + 9.5)
    assert player.number() == 4
    player.wait(2.0)
    assert player.number() == 5


def test_the_next_alert_is_sought_and_playing_stops_there(player: Player) -> None:
    assert player.number() == 0
    player.replay.set_speed(64)
    player.replay.seek_alert()
    assert player.number() == 6
    assert player.replay.state.mark == "PAGE text of b"
    assert player.replay.state.speed == 0


def test_without_a_later_alert_the_frame_stays_and_the_state_says_so(player: Player) -> None:
    assert player.number() == 0
    player.replay.seek(BEGAN + 16)
    assert player.number() == 8
    player.replay.seek_alert()
    player.wait(2.0)
    assert player.number() == 9
    player.replay.seek_alert()
    player.until(lambda: player.replay.state.problem == "no later alert")
    player.replay.step(-1)
    assert player.number() == 8
    player.until(lambda: player.replay.state.problem is None)


def test_the_state_tells_where_the_replay_is(player: Player) -> None:
    assert player.number() == 0
    player.replay.seek(BEGAN + 99)
    assert player.number() == COUNT - 1
    found = player.replay.state
    assert (found.begin, found.at, found.end) == (BEGAN, BEGAN + 18, BEGAN + 18)
    assert found.is_at_end
    assert found.problem is None


def test_the_last_frame_that_is_shown_equals_the_live_snapshot(tmp_path: Path) -> None:
    live = full(BEGAN + 2)
    player = Player(recorded(tmp_path / "live.rec", [full(), live]))
    player.replay.step(1)
    assert [player.shown.get(timeout=30), player.shown.get(timeout=30)] == [full(), live]
    player.replay.close()


def test_asking_and_focus_change_nothing(player: Player) -> None:
    assert player.number() == 0
    player.replay.ask_now()
    player.replay.set_focus(("west>east", "orders"))
    player.wait(2.0)
    assert player.number() == 1


def test_a_recording_that_grows_is_followed(path: Path, player: Player) -> None:
    player.replay.seek(BEGAN + 99)
    assert [player.number(), player.number()] == [0, COUNT - 1]
    recorded(path, [full(BEGAN + 20)])
    player.wait(2.0)
    assert player.number() == COUNT


def test_a_long_pause_of_the_recorder_is_passed_over(path: Path) -> None:
    recorded(path, [full(BEGAN + 90_000)])
    player = Player(path, speed=0.0)
    player.replay.step(COUNT - 1)
    assert [player.number(), player.number()] == [0, COUNT - 1]
    player.replay.set_speed(2.0)
    player.wait(1.0)
    player.wait(1.0)
    assert player.number() == 45_000
    player.replay.close()


def test_damaged_frames_are_passed_over_and_told(path: Path) -> None:
    recorded(path, [full(BEGAN + 20), full(BEGAN + 22)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE frames SET content = x'00' WHERE id = 4")
    connection.close()
    player = Player(path, speed=0.0)
    player.replay.step(3)
    assert [player.number(), player.number()] == [0, COUNT]
    assert player.replay.state.problem
    player.replay.step(1)
    assert player.number() == COUNT + 1
    player.replay.close()


@pytest.mark.parametrize(
    "change", ["kind = 'differense'", "version = -7", "content = 'text'", "at = 'noon'"]
)
def test_no_damage_ends_a_replay(path: Path, change: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE frames SET {change} WHERE id BETWEEN 4 AND 6")
    connection.close()
    player = Player(path, speed=0.0)
    player.replay.step(3)
    player.until(lambda: player.replay.state.problem is not None)
    player.replay.seek(BEGAN + 2)
    player.until(lambda: player.replay.state.at == BEGAN + 2)
    player.replay.close()


def test_an_error_of_the_screen_ends_no_replay(path: Path) -> None:
    shown: queue.Queue[Snapshot] = queue.Queue()

    def show(snapshot: Snapshot) -> None:
        shown.put(snapshot)
        if shown.qsize() == 1:
            raise KeyError("the screen is gone")

    replay = Replay(Reader(path), speed=0.0)
    replay.start(show)
    replay.step(1)
    assert [shown.get(timeout=30).taken_at for _ in range(2)] == [BEGAN, BEGAN + 2]
    replay.close()


def test_after_a_backward_step_of_the_recorders_clock_frames_keep_their_pace(
    tmp_path: Path,
) -> None:
    times = [BEGAN, BEGAN + 2, BEGAN - 3600, BEGAN - 3598, BEGAN - 3596]
    player = Player(recorded(tmp_path / "a.rec", [full(each) for each in times]))
    assert player.number() == 0
    player.wait(2.0)
    # The pause before the first frame of the other time is not known.
    assert [player.number(), player.number()] == [1, -1800]
    player.wait(1.5)
    with pytest.raises(queue.Empty):
        player.shown.get(timeout=0.5)
    player.wait(0.5)
    assert player.number() == -1799
    player.replay.set_speed(64.0)
    player.wait(1.0)
    assert player.number() == -1798
    player.replay.close()


def test_a_replay_that_never_began_can_be_closed(path: Path) -> None:
    Replay(Reader(path)).close()


# --- Playback: the time of a recording by the clock.

STILL = Playback(at=1000.0, since=50.0, speed=0.0)
PLAYING = Playback(at=1000.0, since=50.0, speed=4.0)


def test_time_goes_by_the_speed() -> None:
    assert PLAYING.time(53.0) == 1012.0
    assert STILL.time(53.0) == 1000.0


def test_another_speed_changes_nothing_of_the_time_before() -> None:
    slower = PLAYING.with_speed(1.0, 53.0)
    assert (slower.time(53.0), slower.time(55.0)) == (1012.0, 1014.0)


def test_a_frame_is_waited_for_as_long_as_its_time_takes_at_this_speed() -> None:
    assert PLAYING.wait_seconds(1008.0, 51.0) == 1.0
    assert PLAYING.wait_seconds(1001.0, 51.0) == 0.0
    assert STILL.wait_seconds(1008.0, 51.0) is None


def test_a_long_time_without_frames_is_passed_over() -> None:
    skipped = PLAYING.without_gap(1000.0, 9000.0, 51.0)
    assert skipped.wait_seconds(9000.0, 51.0) == 1.0
    assert skipped.without_gap(1000.0, 9000.0, 51.5) == skipped


def test_a_short_time_without_frames_is_played() -> None:
    assert PLAYING.without_gap(1000.0, 1060.0, 51.0) == PLAYING


def test_moving_keeps_the_speed() -> None:
    assert PLAYING.moved(2000.0, 60.0).time(61.0) == 2004.0


# --- Marks: what got worse from one snapshot to the next.

EMPTY = Snapshot(taken_at=1.0, alerts=())


def marks(*snapshots: Snapshot) -> list[str | None]:
    marker = Marker()
    return [marker.mark(each) for each in snapshots]


def test_an_alert_that_opens_is_marked_once() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    assert marks(EMPTY, opened, opened) == [None, "PAGE text of a", None]


def test_an_alert_that_opens_again_is_marked_again() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    resolved = replace(EMPTY, alerts=(alert("a", AlertState.RESOLVED),))
    assert marks(EMPTY, opened, resolved, opened)[2:] == [None, "PAGE text of a"]


def test_alerts_that_are_unknown_for_a_while_are_not_new_afterwards() -> None:
    opened = replace(EMPTY, alerts=(alert("a"),))
    assert marks(opened, replace(EMPTY, alerts=None), opened) == [None, None, None]


def test_a_route_is_marked_when_its_state_gets_worse_and_not_when_it_gets_better() -> None:
    good = replace(EMPTY, routes=(route(),))
    behind = replace(EMPTY, routes=(route(state=Health.BEHIND),))
    parked = replace(EMPTY, routes=(route(state=Health.PARKED),))
    found = marks(good, behind, parked, behind, good)
    assert found == [None, "west>east is BEHIND", "west>east is PARKED", None, None]


def test_a_route_that_is_missing_for_a_while_is_compared_with_its_last_state() -> None:
    good = replace(EMPTY, routes=(route(),))
    behind = replace(EMPTY, routes=(route(state=Health.BEHIND),))
    assert marks(good, EMPTY, behind) == [None, None, "west>east is BEHIND"]
