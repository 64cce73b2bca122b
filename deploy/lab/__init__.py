"""The lab: real Kafka brokers and Redis servers on this machine, and the demo on them."""
