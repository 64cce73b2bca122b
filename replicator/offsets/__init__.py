"""Where records landed: runs on their way into their topic and Redis, and the map they make."""
