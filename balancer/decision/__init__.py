"""Decides, route by route, how many carriers there are and which partitions each of them carries.

Time is an argument; what is decided is a value that says why.
"""
