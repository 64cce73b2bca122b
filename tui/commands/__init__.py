"""Commands of the `sluice` program: each reads its options, makes one call, and prints the result.

Modules import nothing heavy at the top, because every start of the program would pay for it.
"""
