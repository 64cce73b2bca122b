"""What is known of a move between two regions, asked of their servers."""
