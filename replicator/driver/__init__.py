"""`sluice replicate`: one process per region that looks after its topics, plans and carriers."""
