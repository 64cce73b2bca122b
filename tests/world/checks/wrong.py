"""Wrong: what a check found."""


class Wrong(AssertionError):
    """A history lost, repeated or reordered a record, told what is not true, or did not end."""
