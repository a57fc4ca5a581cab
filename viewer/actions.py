"""Which key does what: one table for the window, the hint line and the help."""

from collections.abc import Callable
from dataclasses import dataclass

from .replay import QUALITIES, Replay
from .theme import DARK, LIGHT


@dataclass(frozen=True)
class Action:
    """Something a key does.

    keys : names of keys, as the window calls them
    sign : how they are written in the help
    meaning : what they do, for the help
    run : is given the replay, the key and whether shift is held
    """

    keys: tuple[str, ...]
    sign: str
    meaning: str
    run: Callable[[Replay, str, bool], None]


def press(replay: Replay, key: str, shift: bool = False) -> bool:
    """Do what a key does; return whether it does anything."""
    action = _ACTION_OF_KEY.get(key)
    if action is None:
        return False
    action.run(replay, key, shift)
    replay.changed = True
    return True


def _step_frames(replay: Replay, key: str, shift: bool) -> None:
    steps = 10 if shift else 1
    replay.timeline.step_frames(-steps if key == "left" else steps)
    replay.arrive()


def _jump(replay: Replay, key: str, shift: bool) -> None:
    timeline = replay.timeline
    jumps = {
        ("bracketleft", False): timeline.previous_impact,
        ("bracketright", False): timeline.next_impact,
        ("bracketleft", True): timeline.previous_event,
        ("bracketright", True): timeline.next_event,
    }
    jumps[key, shift]()
    replay.arrive()


def _step_inside(replay: Replay, key: str, shift: bool) -> None:
    steps = 10 if shift else 1
    replay.step_inside(-steps if key == "up" else steps)


def _change_speed(replay: Replay, key: str, shift: bool) -> None:
    if key == "comma":
        replay.timeline.slower()
    else:
        replay.timeline.faster()


def _go_to_end(replay: Replay, key: str, shift: bool) -> None:
    replay.timeline.seek_fraction(0.0 if key == "home" else 1.0)
    replay.arrive()


def _choose(replay: Replay, key: str, shift: bool) -> None:
    replay.choose(None if key == "0" else int(key) - 1)


def _choose_next(replay: Replay, key: str, shift: bool) -> None:
    replay.choose_next(-1 if shift else 1)


def _play_impacts(replay: Replay, key: str, shift: bool) -> None:
    replay.plays_impacts = not replay.plays_impacts
    words = (
        "Playing stops the clock at every impact while" if replay.plays_impacts else "Impacts take no time:"
    )
    replay.say(f"{words} its impulses grow{'.' if replay.plays_impacts else ' at once.'}")


def _plots(replay: Replay, key: str, shift: bool) -> None:
    if not shift:
        replay.next_plots()
        return
    replay.shown.plots = True
    for run in replay.runs:
        run.plots.switch_axis()


def _theme(replay: Replay, key: str, shift: bool) -> None:
    replay.look.theme = DARK if replay.look.theme is LIGHT else LIGHT


def _quality(replay: Replay, key: str, shift: bool) -> None:
    now = QUALITIES.index(replay.look.quality)
    replay.look.quality = QUALITIES[(now + 1) % len(QUALITIES)]
    replay.say(f"Quality: {replay.look.quality}.")


def _orthographic(replay: Replay, key: str, shift: bool) -> None:
    replay.camera.orthographic = not replay.camera.orthographic


def _help(replay: Replay, key: str, shift: bool) -> None:
    replay.look.help = not replay.look.help


def _forces(replay: Replay, key: str, shift: bool) -> None:
    replay.shown.forces = not replay.shown.forces
    refused = [run.forces_refused for run in replay.runs if run.forces_refused]
    if replay.shown.forces and refused:
        replay.say(refused[0])


def _toggle(name: str) -> Callable[[Replay, str, bool], None]:
    def run(replay: Replay, key: str, shift: bool) -> None:
        setattr(replay.shown, name, not getattr(replay.shown, name))

    return run


GROUPS: dict[str, tuple[Action, ...]] = {
    "Time": (
        Action(("space",), "space", "play or pause", lambda replay, key, shift: replay.toggle_play()),
        Action(("left", "right"), "← →", "one frame back or on (shift: ten)", _step_frames),
        Action(("bracketleft", "bracketright"), "[  ]", "previous or next impact (shift: any event)", _jump),
        Action(("down", "up"), "↓ ↑", "step inside the impact, along its impulses", _step_inside),
        Action(("n",), "N", "play impacts too, while the clock waits", _play_impacts),
        Action(("comma", "period"), ",  .", "slower or faster", _change_speed),
        Action(("home", "end"), "Home End", "to the start or the end", _go_to_end),
    ),
    "Outcomes": (
        Action(tuple("123456789"), "1 … 9", "follow one outcome, the others fade", _choose),
        Action(("0",), "0", "all outcomes alike, overlaid", _choose),
        Action(("tab",), "Tab", "the next outcome (shift: the one before)", _choose_next),
        Action(
            ("m",), "M", "density map: how many outcomes are where", lambda r, key, shift: r.toggle_density()
        ),
        Action(("d",), "D", "side by side or overlaid", lambda r, key, shift: r.toggle_side_by_side()),
    ),
    "Shown": (
        Action(("c",), "C", "contacts: points, normals, mode by colour", _toggle("contacts")),
        Action(("i",), "I", "impulses", _toggle("impulses")),
        Action(("k",), "K", "friction cones", _toggle("cones")),
        Action(("v",), "V", "velocities", _toggle("velocities")),
        Action(("l",), "L", "forces of contacts and joints, and torques", _forces),
        Action(("t",), "T", "trails", _toggle("trails")),
        Action(("g",), "G", "ghosts of earlier places", _toggle("ghosts")),
        Action(("x",), "X", "see through bodies", _toggle("see_through")),
        Action(("e",), "E", "plots, then large (shift: over impulse)", _plots),
        Action(("b",), "B", "light or dark", _theme),
        Action(("q",), "Q", "quality: auto, full or draft", _quality),
    ),
    "Camera": (
        Action(
            ("f",), "F", "follow the picked body, or stop", lambda replay, key, shift: replay.toggle_follow()
        ),
        Action(
            ("z",), "Z", "go to this impact, or the picked body", lambda r, key, shift: r.look_at_impact()
        ),
        Action(("a",), "A", "all of the motion, or what still moves", lambda r, key, shift: r.switch_frame()),
        Action(("o",), "O", "parallel projection or perspective", _orthographic),
        Action(
            ("p",),
            "P",
            "look along an axis (again: the next)",
            lambda r, key, shift: r.look_along_next_axis(),
        ),
    ),
}
HELP_KEYS = ("h", "f1")
_ACTION_OF_KEY = {key: action for group in GROUPS.values() for action in group for key in action.keys}
_ACTION_OF_KEY.update(dict.fromkeys(HELP_KEYS, Action(HELP_KEYS, "H", "this help", _help)))
OTHER_KEYS = (("S", "save a picture"), ("H or F1", "this help"), ("Esc", "close"))
MOUSE = (
    ("drag", "orbit"),
    ("right drag", "move (also shift and drag)"),
    ("wheel", "zoom to the pointer"),
    ("click", "pick a body"),
    ("time bar", "scrub"),
    ("drop a file", "open a recording (shift: add it)"),
)
