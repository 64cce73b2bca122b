"""Loaders: fetch records, form blocks, commit intents, load."""
