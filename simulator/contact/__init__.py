"""Motion in contact and on joints: modes of contact, forces, rest, and ends of infinitely many impacts."""
