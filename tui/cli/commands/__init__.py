"""Commands of the `sluice` program, one file each.

Modules import nothing heavy at the top, because every start of the program would pay for it.
"""
