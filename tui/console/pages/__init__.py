"""Pages of the console: functions of a snapshot. None imports Textual."""
