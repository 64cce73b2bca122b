"""Orders of an operator: each takes values and clients, and returns a value or raises an error.

They print nothing: progress and remarks go to a callable that they are given.
"""
