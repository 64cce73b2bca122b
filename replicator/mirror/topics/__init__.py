"""Topics of a target: the plan of what is mirrored, with which configs, and the admin client."""
