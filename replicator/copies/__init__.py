"""What a region keeps of other regions, copied into its Redis by daemons of theirs."""
