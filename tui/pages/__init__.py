"""Pages: what is shown of a snapshot, as values. None imports Textual or click."""
