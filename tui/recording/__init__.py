"""Recordings of snapshots in a file, and their replay."""
