"""Jobs: `sluice` commands that the console starts, and that go on when it ends."""
