"""Light and dark: the colours of scene and overlay."""

from dataclasses import dataclass

Colour = tuple[int, int, int, int]
Light = tuple[float, float, float]


@dataclass(frozen=True)
class Theme:
    """Colours: of light and surfaces as red, green and blue from 0 to 1, of the overlay with opacity to 255."""

    name: str
    sky: Light
    horizon: Light
    ground: Light
    dark_tile: Light
    light_tile: Light
    ambient_below: Light
    ambient_above: Light
    sun: float
    ink: Colour
    faint_ink: Colour
    paper: Colour


LIGHT = Theme(
    name="light",
    sky=(0.50, 0.65, 0.84),
    horizon=(0.905, 0.925, 0.955),
    ground=(0.80, 0.82, 0.85),
    dark_tile=(0.745, 0.765, 0.795),
    light_tile=(0.865, 0.88, 0.91),
    ambient_below=(0.40, 0.40, 0.43),
    ambient_above=(0.53, 0.55, 0.585),
    sun=0.42,
    ink=(28, 34, 44, 255),
    faint_ink=(92, 100, 114, 255),
    paper=(248, 250, 253, 215),
)
DARK = Theme(
    name="dark",
    sky=(0.055, 0.07, 0.10),
    horizon=(0.125, 0.145, 0.18),
    ground=(0.09, 0.10, 0.125),
    dark_tile=(0.205, 0.22, 0.25),
    light_tile=(0.275, 0.295, 0.33),
    ambient_below=(0.30, 0.31, 0.34),
    ambient_above=(0.44, 0.46, 0.50),
    sun=0.52,
    ink=(232, 236, 243, 255),
    faint_ink=(160, 168, 182, 255),
    paper=(24, 28, 36, 215),
)

PANEL: Colour = (30, 33, 42, 232)
PANEL_INK: Colour = (240, 243, 248, 255)
PANEL_FAINT: Colour = (164, 171, 186, 255)
ACCENT: Colour = (96, 165, 250, 255)

KIND_COLOURS: dict[str, Colour] = {
    "impact": (255, 132, 52, 255),
    "lift_off": (88, 205, 130, 255),
    "stick": (84, 160, 255, 255),
    "slip": (240, 205, 72, 255),
    "user": (208, 212, 222, 255),
    "sensor": (58, 208, 214, 255),
    "roll": (226, 150, 214, 255),
    "halt": (150, 140, 255, 255),
}
"""Of each kind of event."""

MODE_COLOURS: dict[str, Light] = {
    "separating": (0.25, 0.74, 0.44),
    "sliding": (0.93, 0.73, 0.15),
    "sticking": (0.22, 0.52, 0.95),
}
"""Of what a contact does."""

IMPULSE_COLOUR: Light = (0.95, 0.49, 0.12)
VELOCITY_COLOUR: Light = (0.12, 0.62, 0.60)
FORCE_COLOUR: Light = (0.60, 0.30, 0.80)
UNDECIDED_COLOUR: Light = (0.80, 0.70, 0.92)  # of a force that is one of several, as of a torque below
TORQUE_COLOUR: Light = (0.85, 0.30, 0.58)
UNDECIDED_TORQUE_COLOUR: Light = (0.94, 0.70, 0.83)
"""Of arrows."""

RUN_COLOURS: tuple[Light, ...] = (
    (0.16, 0.50, 0.90),
    (0.93, 0.42, 0.18),
    (0.20, 0.66, 0.38),
    (0.68, 0.34, 0.80),
    (0.90, 0.68, 0.10),
    (0.10, 0.68, 0.72),
    (0.86, 0.26, 0.42),
    (0.46, 0.46, 0.86),
    (0.56, 0.58, 0.20),
)
"""Of overlaid runs, in order and again from the start."""


GHOST_TINT: Light = (0.45, 0.66, 0.92)
COMPARED_RUNS = 24  # of more overlaid runs all bodies are drawn, also where they look the same
TINTED = 0.75  # share of a run's colour in that of its bodies
FADED = 0.16  # opacity of runs behind the one that is followed
SEE_THROUGH = 0.32  # opacity of bodies that are seen through


def colour_of_kind(kind: str) -> Colour:
    """The colour of a kind of event, grey for one that is not known."""
    return KIND_COLOURS.get(str(kind), (200, 200, 200, 255))


def colour_of_run(number: int) -> Light:
    """The colour of a run by its number from 0."""
    return RUN_COLOURS[number % len(RUN_COLOURS)]


def light_of(text: str) -> Light:
    """The colour that is written "#rrggbb"."""
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def to_light(colour: Colour) -> Light:
    """A colour of the overlay as one of the scene."""
    return colour[0] / 255, colour[1] / 255, colour[2] / 255


def to_bytes(colour: Light, opacity: int = 255) -> Colour:
    """A colour of the scene as one of the overlay."""
    red, green, blue = (round(255 * part) for part in colour)
    return red, green, blue, opacity
