"""Packs shares of load onto carriers. Arrays in, arrays out: knows no topic, no route, no clock.

A *share* is what one item takes of a carrier: any unit, as long as all have the same. Items and
carriers are numbers, counted from 0.
"""
