"""`sluice balance`: watches what partitions take in, and decides which carrier carries which."""
