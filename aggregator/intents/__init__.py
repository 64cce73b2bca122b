"""Intents: what a loader is about to load, as values."""
