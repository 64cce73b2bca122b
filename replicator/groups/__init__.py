"""Consumer groups in several regions: copies of commits, plans, failover, offset sync, resume."""
