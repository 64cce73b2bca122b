"""State of the appliance as values, and the probes that read it from servers.

A probe is blocking. An unreachable server becomes a problem of the value, not an exception.
"""
