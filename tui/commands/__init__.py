"""One file for each command of the `sluice` program.

Their modules import nothing heavy at the top: every start of the program pays for it.
"""
