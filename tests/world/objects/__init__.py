"""Loaders of a feed into objects, in a world with a store."""
