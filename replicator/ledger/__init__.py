"""How far every partition is, who writes what follows, and how that is taken over."""
