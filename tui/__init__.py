"""Command-line program `sluice`, with which operators run and inspect the replicator."""
