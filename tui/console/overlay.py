"""Overlay: a screen above the main one, which ends once."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Overlay(ModalScreen[ScreenResultType]):
    """Screen above the main one. Keys that were typed before its end may still reach it."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Ends the overlay; does nothing after its end."""
        # Textual pops whatever is on top: a second escape would take the main screen away.
        if not self.is_active:
            return AwaitComplete()
        return super().dismiss(result)
