"""Kafka's protocol as carriers use it: which broker to ask, and how to interpret its answers."""
