"""Mirror of one route in a world: its processes, its load and its histories."""
