"""`make pictures`: a picture of every screen of the console, drawn from one recording.

docs/pictures/console.rec is the recording, and beside it are the pictures, as SVG. The console
replays the recording without a terminal, so the same recording gives the same bytes each time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

# Read when Textual is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.pop("NO_COLOR", None)

from textual.pilot import Pilot

from deploy.lab.kafka import CHECKOUT
from tui.console.app import ConsoleApp
from tui.console.export import without_fonts
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.recording.reader import Moment, Reader
from tui.recording.replay import Replay

FOLDER = CHECKOUT / "docs" / "pictures"
RECORDING = FOLDER / "console.rec"
SIZE = 110, 30
PAUSES_MAX = 5000


class NotDrawn(Exception):
    """The console did not come to rest. Look at the pages and at the recording."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture of a screen.

    Args:
        frame: number of the frame in the recording, from 0 on.
        keys: that lead to the screen from the overview.
    """

    name: str
    frame: int
    keys: tuple[str, ...] = ()


HEALTHY, LAGGING, GONE = range(3)
"""Frames of the recording: all is well; partitions lag, one is parked; a region is gone."""
PICTURES = (
    Picture("overview", LAGGING, ("end",)),
    Picture("region-gone", GONE, ("end", "up")),
    Picture("routes", LAGGING, ("2",)),
    Picture("topics", LAGGING, ("2", "enter")),
    Picture("partitions", LAGGING, ("2", "enter", "enter")),
    Picture("groups", LAGGING, ("3",)),
    Picture("group", LAGGING, ("3", "enter")),
    Picture("failover", LAGGING, ("4",)),
    Picture("plan", LAGGING, ("4", "enter")),
    Picture("balance", LAGGING, ("5",)),
    Picture("stream", LAGGING, ("5", "enter")),
    Picture("alerts", GONE, ("6",)),
    Picture("alert", LAGGING, ("6", "end", "enter")),
    Picture("feeds", LAGGING, ("7",)),
    Picture("feed", LAGGING, ("7", "enter")),
    Picture("events", GONE, ("8",)),
    Picture("help", HEALTHY, ("?",)),
    Picture("palette", HEALTHY, (":",)),
)


def main() -> None:
    """Makes all pictures anew."""
    for name, svg in drawn(PICTURES):
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


def drawn(pictures: tuple[Picture, ...]) -> Iterator[tuple[str, str]]:
    """Yields the name and the SVG of each picture."""
    for each in pictures:
        yield each.name, asyncio.run(draw(each))


async def draw(picture: Picture) -> str:
    """Returns the picture as SVG, without the addresses of fonts."""
    async with shown(picture.frame) as (app, pilot):
        for key in picture.keys:
            await pilot.press(key)
            await rest(app, pilot)
        return without_fonts(app.export_screenshot(title="sluice console"))


@asynccontextmanager
async def shown(frame: int) -> AsyncIterator[tuple[ConsoleApp, Pilot[int]]]:
    """Runs a console that shows a frame of the recording."""
    reader = Reader(RECORDING)
    moment = moment_of(reader, frame)
    replay = Replay(reader, speed=0.0)
    app = ConsoleApp(
        ConsoleSettings(file=RECORDING.name, is_replay=True),
        lambda: Opened(source=replay, replay=replay),
    )
    async with app.run_test(size=SIZE) as pilot:
        try:
            await until(app, pilot, lambda: app.state.snapshot is not None)
            replay.seek(moment.at)
            await until(
                app,
                pilot,
                lambda: app.state.snapshot is not None and app.state.snapshot.taken_at == moment.at,
            )
            await rest(app, pilot)
            yield app, pilot
        finally:
            app.close_parts()


def moment_of(reader: Reader, frame: int) -> Moment:
    """Returns a frame of the recording by its number, from 0 on."""
    found = reader.first()
    for _ in range(frame):
        following = reader.next(found)
        if following is None:
            raise NotDrawn(f"the recording has no frame {frame}")
        found = following
    return found


async def rest(app: ConsoleApp, pilot: Pilot[int]) -> None:
    """Waits until the screen shows what was pressed."""
    await pilot.pause()
    await until(app, pilot, lambda: app.is_drawn)
    app.main.show_top()
    await pilot.pause()


async def until(app: ConsoleApp, pilot: Pilot[int], claim: Callable[[], bool]) -> None:
    """Waits until a claim holds. Raises NotDrawn, or the error of the console."""
    for _ in range(PAUSES_MAX):
        if app.failure is not None:
            raise app.failure
        if claim():
            return
        await pilot.pause(0.001)
    raise NotDrawn("the console does not come to rest")


if __name__ == "__main__":
    main()
