"""Parts that every daemon of Sluice has."""
