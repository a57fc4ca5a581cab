"""The compiled loop of the engine and what it is made of: queue, neighbours, flight, impacts, settling."""
