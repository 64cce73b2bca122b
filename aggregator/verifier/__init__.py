"""Verifier: `sluice verify` reads every intent and names anomalies."""
