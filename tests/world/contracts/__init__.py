"""Contracts: requests with the answers that the world and real brokers give."""
