"""What the end of an island's piece means."""

NOTHING, OPENS, SLIPS, STOPS, PRESSES, LEAVES, DRIVE_CHANGES, REACHES_LIMIT, FAILS, MICRO, CALM = range(11)
"""It goes on; a contact opens, leaves its cone, stops slipping, presses again, or comes to the end of a feature; a
drive comes to its largest force or away from it; a joint reaches a limit; no step can be made; a micro-step is
over; it is, and bodies stand still or nearly so."""
CAN_OPEN = 1
"""What the part `hold` is asked about a contact; 0 else."""
