"""Mutations of the mirror: each takes a rule out, and the world has to find that."""
