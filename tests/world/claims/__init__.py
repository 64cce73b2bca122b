"""Simulated daemons that claim one prefix of an object store."""
