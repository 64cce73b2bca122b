"""Mirroring of partitions from a source into a target: topics, ledger, carriers, driver."""
