"""Layouts of the Kafka requests that aiokafka lacks; framing, versions, TLS, SASL are aiokafka's."""
