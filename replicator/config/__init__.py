"""Configuration written by operators: regions, clusters, routes and settings, and its mistakes."""
