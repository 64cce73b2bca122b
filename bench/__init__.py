"""Measures Sluice and MirrorMaker 2 on the same work, on the same brokers, in one run."""
