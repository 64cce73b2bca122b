"""The operator's side: the `sluice` program."""
