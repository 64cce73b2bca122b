"""Pictures of the docs: those of the recording beside them, byte for byte, for every screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy.pictures import FOLDER, PICTURES, RECORDING, Picture, draw
from tui.console.keys import SCREENS
from tui.recording.reader import Reader

ADDRESS = re.compile(r"https?://[^\s\"\']+")
# The name space of SVG, and a remark about the program that drew it; neither is ever fetched.
HARMLESS = {"http://www.w3.org/2000/svg", "https://www.textualize.io"}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda each: each.name)
async def test_a_picture_is_what_the_recording_shows(picture: Picture) -> None:
    stored = FOLDER / f"{picture.name}.svg"
    assert await draw(picture) == stored.read_text(encoding="utf-8"), "make pictures draws it anew"


def test_every_screen_has_a_picture() -> None:
    assert set(SCREENS) <= {each.name for each in PICTURES}


def test_every_file_is_drawn_and_shown_in_the_page() -> None:
    names = {each.name for each in PICTURES}
    assert {path.stem for path in FOLDER.glob("*.svg")} == names
    page = (FOLDER.parent / "console.md").read_text()
    assert set(re.findall(r"\(pictures/([a-z-]+)\.svg\)", page)) == names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda each: each.stem)
def test_a_picture_needs_no_other_host(path: Path) -> None:
    assert set(ADDRESS.findall(path.read_text(encoding="utf-8"))) <= HARMLESS


def test_the_recording_of_an_earlier_time_opens() -> None:
    """It is not made anew with each version, so it stands for the files of the version before."""
    with Reader(RECORDING) as reader:
        assert reader.snapshot(reader.last()).routes
