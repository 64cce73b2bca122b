"""Connections to the brokers of one cluster: requests by leader, fetch sessions, commits."""
