"""The console: pages of a snapshot, without Textual, and the Textual program that shows them."""
