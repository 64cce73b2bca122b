"""`sluice balance`: measures the traffic of partitions and assigns partitions to carriers."""
