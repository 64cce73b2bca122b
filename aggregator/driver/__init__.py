"""Driver of a region's feeds: `sluice aggregate`."""
