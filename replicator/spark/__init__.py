"""Spark as the host of carriers: its session, its stream, and what stands around them."""
