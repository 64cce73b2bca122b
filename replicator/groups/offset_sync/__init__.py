"""Daemon `sluice offsets`: what a region publishes to the others, and what it keeps of theirs."""
