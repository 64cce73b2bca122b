"""Kafka's protocol as carriers speak it: whom to ask what, and what an answer means."""
