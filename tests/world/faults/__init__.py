"""Faults that a history deals, by what they take hold of."""
