"""What people see of a trajectory: a replay in a window, and pictures.

pyglet and OpenGL are imported only when something is drawn.
"""

from .display import DisplayError, has_display
from .pictures import render, render_strip
from .show import view

__all__ = ["DisplayError", "has_display", "render", "render_strip", "view"]
