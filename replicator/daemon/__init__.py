"""What every daemon of Sluice has, whatever it does."""
