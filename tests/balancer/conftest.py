"""Hypothesis without a deadline: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("balancer", deadline=None, max_examples=60)
settings.load_profile("balancer")
