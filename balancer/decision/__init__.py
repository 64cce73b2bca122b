"""Decides for each route how many carriers there are, and which partitions each of them carries.

Time is an argument. A decision is a value that states its reasons.
"""
