"""Kafka of a world: brokers, their logs and coordinators, and what they answer."""
