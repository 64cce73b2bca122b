"""Commands of a replay."""

from dataclasses import replace

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.settings import ConsoleSettings

REPLAY = ConsoleSettings(file="lab.rec", is_replay=True)


async def test_keys_step_seek_and_change_the_speed():
    async with running(snapshots.lagging(), settings=REPLAY) as console:
        await console.press("[", "]", ",", ".", "n")
        assert console.source.moves == [-1, 1, ("speed", 0.5), ("speed", 2.0), "alert"]
        await console.press("i", *"14", "colon", *"00", "enter")
        assert console.source.moves[-1] == ("seek", snapshots.NOW - 151)


async def test_the_time_of_a_replay_is_that_of_its_snapshot():
    async with running(snapshots.lagging(), settings=REPLAY) as console:
        assert "REPLAY" in console.frame() and "x1" in console.frame()
        await console.give(replace(snapshots.lagging(), taken_at=snapshots.NOW - 60))
        assert "14:01:31Z" in console.frame()


async def test_without_a_replay_the_keys_say_so():
    async with running(snapshots.lagging()) as console:
        for key in ("[", "]", ",", ".", "n", "i"):
            await console.press(key)
            assert "this is no replay" in console.frame()
        assert console.source.moves == []
