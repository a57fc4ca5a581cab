"""What ends a run by time steps."""


class StepTooLongError(ValueError):
    """Bodies overlap by more than time steps allow; the message says by how much, and what step would do."""


class LawFailedError(Exception):
    """A law gave no answer to an impact of a step, which ends the run; the message says why."""
