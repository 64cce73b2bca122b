"""Admin client: topics, configs and log ends of one cluster, and the errors it raises."""
