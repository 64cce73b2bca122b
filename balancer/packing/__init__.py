"""Packs shares of load onto carriers: arrays in, arrays out, without topics, routes or a clock.

A *share* is the load that an item adds to its carrier, in any unit that is the same for all items.
Items and carriers are numbers, counted from 0.
"""
