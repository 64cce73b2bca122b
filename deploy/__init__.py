"""How Sluice is put up: the lab on one machine, the reference configuration, the set-up."""
