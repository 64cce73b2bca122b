"""Deployment of Sluice: the lab on one machine, the reference configuration, the setup."""
