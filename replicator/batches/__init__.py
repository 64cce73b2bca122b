"""Record batches as bytes: what they say, and how they are opened, packed and sent on."""
