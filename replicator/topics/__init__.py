"""Which topics are mirrored, with which configs, and how a cluster is brought there."""
