"""Spark as the host of carriers: its session, its stream, and the files around them."""
