"""What operators write: regions, clusters, routes and settings, and what is wrong with them."""
