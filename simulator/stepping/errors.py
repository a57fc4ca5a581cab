"""What ends a run by time steps."""


class StepTooLongError(ValueError):
    """Bodies overlap by more than time steps allow; the message says by how much, and what step would do."""
