"""Times and texts of the values that tests of the console show."""

NOW = 1_795_269_751.0
"""2026-11-21 14:02:31 UTC."""
NOW_MS = int(NOW * 1000)
MINUTE_MS = 60_000
REFUSED = "connection refused"
