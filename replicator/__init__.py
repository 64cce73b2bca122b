"""Mirrors topics from every region's regional cluster into every region's aggregate cluster."""
