"""Offset maps: runs on their way to the runs topic and Redis, and the maps built from them."""
