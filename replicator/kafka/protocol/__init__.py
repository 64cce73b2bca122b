"""Layouts of Kafka requests that aiokafka lacks; framing, versions, TLS and SASL stay its own."""
