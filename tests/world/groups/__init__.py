"""Consumer groups in a world of two regions: they read, commit, and are moved by plans."""
