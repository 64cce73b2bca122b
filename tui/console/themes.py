"""Themes of the console: those of Textual, and one of high contrast."""

from __future__ import annotations

from textual.theme import Theme

WHITE, BLACK = "#ffffff", "#000000"
PANEL = "#101010"
HIGH_CONTRAST = Theme(
    name="high-contrast",
    primary="#66ccff",
    secondary="#66ccff",
    accent="#ffff66",
    warning="#ffcc33",
    error="#ff9d9d",
    success="#66ff66",
    foreground=WHITE,
    background=BLACK,
    surface=BLACK,
    panel=PANEL,
    text_alpha=1.0,
    variables={
        "text-error": "#ff9d9d",
        "text-warning": "#ffcc33",
        "text-success": "#66ff66",
        "text-accent": "#ffff66",
        "text-muted": "#d0d0d0",
        "block-cursor-foreground": BLACK,
        "block-cursor-background": "#ffff66",
    },
)
"""Theme whose every tone has a contrast of 7:1 at least."""


def next_theme(names: list[str], current: str) -> str:
    """Returns the name of the theme after the current one; ours is the second."""
    others = sorted(name for name in names if name not in (HIGH_CONTRAST.name, "textual-dark"))
    order = ["textual-dark", HIGH_CONTRAST.name, *others]
    return order[(order.index(current) + 1) % len(order)] if current in order else order[0]
