"""Notices to operators in a region's Redis: what stands in the way, what happened, who runs."""
