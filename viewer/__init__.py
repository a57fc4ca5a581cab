"""What people see of a trajectory: a replay in a window, pictures, videos, and files for other programs.

pyglet and OpenGL are imported only when something is drawn.
"""

from .display import DisplayError, has_display
from .exports import render
from .html_player import player_frame, player_html
from .pictures import render_strip
from .show import view
from .video import VideoError

__all__ = [
    "DisplayError",
    "VideoError",
    "has_display",
    "player_frame",
    "player_html",
    "render",
    "render_strip",
    "view",
]
