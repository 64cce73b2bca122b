"""Driver of `sluice aggregate`: one process per region that leads its feeds, plans and loaders.

It is Spark's driver: the modules here run in the daemon's own process. Spark's JVM, its child,
places tasks; loaders (aggregator/loader) run in Python workers that Spark forks. A record passes
through none but those workers (docs/ARCHITECTURE.md, "Which process runs what").
"""
