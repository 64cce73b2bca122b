"""Themes: ours has a contrast of 7:1 in every tone."""

import pytest
from textual.color import Color

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.line_widget import TONES
from tui.console.settings import ConsoleSettings
from tui.console.themes import HIGH_CONTRAST, next_theme


def luminance(color: Color) -> float:
    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """Returns the contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


async def test_every_tone_of_high_contrast_has_seven_to_one():
    settings = ConsoleSettings(file="a.toml", theme=HIGH_CONTRAST.name)
    async with running(snapshots.lagging(), settings=settings) as console:
        table = console.app.main.table
        found = {}
        for tone in ("", *TONES):
            style = table.get_component_rich_style(f"tone--{tone}") if tone else table.rich_style
            found[tone] = contrast(
                Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            )
        assert all(ratio >= 7.0 for ratio in found.values()), found


def test_the_contrast_of_black_and_white_is_21():
    assert contrast(Color(0, 0, 0), Color(255, 255, 255)) == pytest.approx(21.0)


def test_themes_go_round_and_ours_is_the_second():
    names = ["nord", "textual-dark", "high-contrast"]
    order = [next_theme(names, "unknown")]
    for _ in names:
        order.append(next_theme(names, order[-1]))
    assert order == ["textual-dark", "high-contrast", "nord", "textual-dark"]
