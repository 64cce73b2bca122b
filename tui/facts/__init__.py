"""Facts about an appliance, as values; watch/ asks its servers for them."""
