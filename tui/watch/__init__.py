"""Watching of an appliance: questions to its servers, asked once or again and again, and the
snapshot that their answers make."""
