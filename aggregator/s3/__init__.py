"""S3: what the store is asked, and what its answers mean."""
