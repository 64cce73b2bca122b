"""What a group has read, as offsets of the sources, and what of an aggregate that is."""
