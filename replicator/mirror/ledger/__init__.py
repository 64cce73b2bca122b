"""Ledger: progress of every partition, its present writer, and the takeover from that writer."""
