"""Spark as the host of carriers: its session, its epochs, and the files around them."""
