"""Driver (`sluice replicate`): one process per region that leads its topics, plans and carriers."""
