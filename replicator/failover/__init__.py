"""Where a consumer group goes on in another region: planned, applied, verified."""
