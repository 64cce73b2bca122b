"""How Sluice is put up: the lab of real servers on one machine, the reference configuration, the set-up."""
