"""Questions to the servers of an appliance, asked once or again and again, and their answers.

An unreachable server becomes a problem of the value, not an exception.
"""
