"""`sluice offsets`: what a region tells the others, and what it keeps of them for its groups."""
