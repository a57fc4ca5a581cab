"""Measured motion: its flights and impacts, what it says about a body and its laws, and how far runs are from
it."""
