"""Checks of a history: at each step, and at its end."""
