"""What is left of a run: trajectory, events, energy ledger, and the files that hold them."""
