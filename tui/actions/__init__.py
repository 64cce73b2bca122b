"""Actions of an operator: each takes values and clients, and returns a value or raises an error.

Actions print nothing. They report progress and remarks to a callable that they are given.
"""
