"""Files: records as Parquet, Avro, JSON lines or raw bytes, written while they come in. No I/O."""
