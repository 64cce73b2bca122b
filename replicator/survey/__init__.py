"""Survey of what is known about a move between two regions, asked of their servers."""
