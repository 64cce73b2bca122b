"""Benchmarks: Sluice and MirrorMaker 2 measured on the same work and brokers in one run."""
