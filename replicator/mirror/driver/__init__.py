"""Driver of `sluice replicate`: one process per region that leads its topics, plans and carriers.

It is Spark's driver: the modules here run in the daemon's own process. Spark's JVM, its child,
places tasks; carriers (replicator/mirror/carrier) run in Python workers that Spark forks. A record
passes through none but those workers (docs/ARCHITECTURE.md, "Which process runs what").
"""
