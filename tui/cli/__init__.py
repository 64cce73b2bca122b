"""Command line of the `sluice` program: commands, and views that format what they show."""
