"""Objects: how records become files in an object store. No I/O."""
