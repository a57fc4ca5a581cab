"""What notebooks show of the package's objects. What draws them is imported when it is asked for."""

from typing import Any


def trajectory_html(trajectory: Any) -> str:
    """The player of a trajectory, in a frame."""
    from .viewer import player_frame

    return player_frame(trajectory)
