"""Notes of events by which a user changes a run, such that a recording says all that is needed to do it again."""

import json
from dataclasses import asdict

from ..bodies import Drive

STATE_SET = "state set"
_DRIVE_SET = "drive set: "


def drive_note(joint: str, drive: Drive) -> str:
    """Of an event at which a joint of this name gets another drive."""
    return _DRIVE_SET + json.dumps({"joint": joint, **asdict(drive)})


def noted_drive(note: str) -> tuple[str, Drive] | None:
    """The joint and drive that a note tells of, or None where it tells of none."""
    if not note.startswith(_DRIVE_SET):
        return None
    found = json.loads(note.removeprefix(_DRIVE_SET))
    return found.pop("joint"), Drive(**found)


def is_reserved(name: str) -> bool:
    """Whether the event of a function of this name could be taken for one of these."""
    return name == STATE_SET or name.startswith(_DRIVE_SET)
