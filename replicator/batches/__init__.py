"""Record batches as bytes: reading headers, opening, packing and stamping them."""
