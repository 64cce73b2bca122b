"""Failover plans, made from what is known: values in, values out."""
