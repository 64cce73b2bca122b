"""Progress of groups as source offsets, and the parts of an aggregate that a group has read."""
