"""The lab: real Kafka brokers and Redis servers on this machine, and what the demo does with them."""
