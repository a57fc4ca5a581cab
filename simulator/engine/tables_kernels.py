"""Everything that changes during a run, and the fixed numbers of its scene, as tables of named columns.

A table is a numpy array of records. Kernels know one number, the address of the record HEADER, in which the
addresses and lengths of all others stand: ``bodies(world)[b].mass`` reads like the arrays in Python, costs no
more than a pointer, and a kernel has one argument instead of fifty. `World` (world.py) owns the memory.

A table may move when it grows: whoever calls `reserve` opens it again.
"""

from typing import Any

import numpy as np

from ...compiled import call, kernel, record_at, rows_at, table_opener
from ..kernels import TERMS

FLOAT, WHOLE = "f8", "i8"
COEFFICIENT_ROWS = 13  # position 3, quaternion 4, velocity 3, spin 3
SIDES = (2,)
VECTOR = (3,)
MATRIX = (3, 3)
states_at = rows_at(np.dtype(FLOAT), (13,))  # opens packed states (n, 13) from address and number

BODY = np.dtype(
    [
        ("movable", WHOLE),
        ("shape_class", WHOLE),
        ("shape", WHOLE),  # row of SHAPE, -1 of a half-space
        ("surface", WHOLE),  # row of SURFACE, -1 where it has none
        ("material", WHOLE),
        ("group", WHOLE),
        ("mask", WHOLE),
        ("sensor", WHOLE),
        ("level", WHOLE),  # of cells, in which it is at home; -1 of a half-space
        ("joined", WHOLE),  # number of the bodies that always move with it, -1: it moves on its own
        ("round", WHOLE),  # whether it is a ball of the same inertia about every axis
        ("size", FLOAT),  # [m], with which tolerances scale
        ("mass", FLOAT),
        ("normal", FLOAT, VECTOR),  # of a half-space
        ("offset", FLOAT),
        ("inverse_mass", FLOAT, MATRIX),  # world axes; no parts out of the plane of a planar scene
        ("inertia", FLOAT, MATRIX),  # body axes
        ("inverse_inertia", FLOAT, MATRIX),
        ("drag", FLOAT, VECTOR),
    ]
)
"""What a scene says of a body, and never changes."""

STILL, BALLISTIC, SERIES, IMPLICIT = 0, 1, 2, 3
"""Kinds of motion: at rest; flight of a ball; polynomials in time; the same, of an implicit step."""

MOTION = np.dtype(
    [
        ("start", FLOAT),
        ("end", FLOAT),
        ("state", FLOAT, (13,)),  # packed, at the start
        ("acceleration", FLOAT, VECTOR),  # nominal
        ("deviation", FLOAT),  # from it [m/s^2]
        ("turning", FLOAT),  # |w|^2 + |w'| [1/s^2], bound over the piece
        ("kind", WHOLE),
        ("terms", WHOLE),  # that are not zero
        ("slot", WHOLE),  # of the coefficients, -1: none yet
        ("version", WHOLE),  # number of pieces begun; what was predicted from an earlier one is void
        ("island", WHOLE),  # row of ISLAND, -1: none
        ("stalled_at", FLOAT),  # [s], the instant at which pieces began last
        ("stalls", WHOLE),  # how many began at that instant
        ("mark", WHOLE),  # number of the last event that has this body among its members
        ("expanded", WHOLE),  # number of the last event that has asked what it touches
        ("rests", WHOLE),
        ("held", WHOLE),  # whether it has begun to move in contact, in the event that is being handled
        ("local", WHOLE),  # scratch: its number among the bodies of an island
        ("fellow", WHOLE),  # next body of its island, -1: none
        ("bound", WHOLE),  # whether joints or forces move it where nothing touches
        ("step", FLOAT),  # of its island, to try next [s]
        ("micro_step", FLOAT),
        ("short", WHOLE),  # explicit steps in a row that were short
        ("implicit", WHOLE),  # implicit steps that it still makes instead
        ("implicit_step", FLOAT),  # to try next [s]
        ("root", WHOLE),  # scratch: of the members that hold together with it
        ("stepped", WHOLE),  # whether time steps move it, see stepped_kernels
    ]
)
"""The piece of motion that a body is in."""

SHAPE = np.dtype(
    [
        *((name, WHOLE, SIDES) for name in ("points", "normals", "edges", "faces", "corners")),
        ("disk", FLOAT),
        ("radius", FLOAT),
        ("reach", FLOAT),
        ("semi_axes", FLOAT, VECTOR),
    ]
)
"""First row and number of rows of a shape's points, normals, edges, face starts and corners in their pools."""

PLACE = np.dtype(
    [("cell", WHOLE, VECTOR), ("next", WHOLE), ("before", WHOLE), ("bucket", WHOLE), ("home", WHOLE)]
)
"""Where a body is in the cells of one level; row: body times the number of levels, plus the level."""

LEVEL = np.dtype([("edge", FLOAT), ("slack", FLOAT)])

DUE = np.dtype(
    [
        ("time", FLOAT),
        ("first", WHOLE),
        ("second", WHOLE),
        ("what", WHOLE),
        ("version", WHOLE, SIDES),
    ]
)
"""Something that is due; void where a version is no longer that of its body or island."""

BOUNCES = 5
PAIR = np.dtype(
    [
        ("first", WHOLE),
        ("second", WHOLE),
        ("next", WHOLE),  # in the free list
        ("size", FLOAT),  # with which tolerances scale [m; of a limit, of its coordinate]
        ("inside", WHOLE),  # whether a sensor and a body are known to overlap
        ("contact", WHOLE),  # first of its contacts, -1: none
        ("stale", WHOLE),  # whether these have to be found anew
        ("clear_gap", FLOAT),  # they were so far apart
        ("clear_time", FLOAT),  # at this time
        ("bounces", WHOLE),
        ("bounce_time", FLOAT, (BOUNCES,)),  # of the last impacts, the latest first
        ("bounce_speed", FLOAT, (BOUNCES,)),  # of approach there [m/s]
    ]
)
"""Two bodies that have come near each other; or the limit of a joint: its first is the number of bodies, and its
second that of the limit."""

POINT_SIDES = (2, 3)
GEOMETRY = 26
CONTACT = np.dtype(
    [
        ("first", WHOLE),
        ("second", WHOLE),
        ("pair", WHOLE),  # row of PAIR, -1 of a limit
        ("next", WHOLE),  # contact of the same pair, or of the free list
        ("feature", WHOLE, SIDES),  # as event.Feature
        ("index", WHOLE, SIDES),
        ("point", FLOAT, VECTOR),
        ("normal", FLOAT, VECTOR),
        ("tangent", FLOAT, VECTOR),
        ("tangent2", FLOAT, VECTOR),
        ("gap", FLOAT),
        ("level", FLOAT),  # gap [m] at which lasting contact keeps it; NaN: not known yet
        ("along", FLOAT, POINT_SIDES),
        ("radius", FLOAT, SIDES),
        ("friction", FLOAT),
        ("impact_friction", FLOAT),
        ("resists", FLOAT, SIDES),  # [m], rolling and spinning
        ("restitution", FLOAT),  # of slow impacts
        ("fall", FLOAT, VECTOR),  # of restitution: exponent, 1 / speed^2, 1 / mass; see `SpeedRestitution`
        ("felt", FLOAT),  # restitution in the impact that is being resolved
        ("velocity", FLOAT, VECTOR),  # contact velocity (normal, tangent, tangent2) [m/s]
        ("impulse", FLOAT, VECTOR),  # of the impact that is being resolved [N s]
        ("fellow", WHOLE),  # next contact of its island, -1: none
        ("behind", WHOLE),  # in a planar scene: the contact it is one with, which stands for it; -1: none
        ("mode", WHOLE),
        ("opens", WHOLE),  # 1: it has just come to press no more; 2: and others keep it closed
        ("again", WHOLE),  # whether its pair touched before it was looked at anew
        (
            "reach",
            FLOAT,
        ),  # how far [m] it may slide past sharp features that meet where it is; 0: not known yet
        ("closing", WHOLE),  # whether it bounces no more to speak of, and is to stay closed
        ("slow", WHOLE),  # whether it slides so slowly that its friction keeps its direction
        ("kind", WHOLE),  # of its curves, see contact_rows
        ("side", WHOLE, SIDES),  # the bodies P and F of its curves
        ("direction", FLOAT, SIDES),  # of slip, in the plane of contact
        ("force", FLOAT, VECTOR),  # [N], world axes, on the first body
        ("turn_mode", WHOLE, SIDES),  # of rolling and of spinning, see turns_kernels
        ("turn_slow", WHOLE, SIDES),
        ("turn_direction", FLOAT, (2, 2)),
        ("turn_axis", FLOAT, (2, 3)),  # that direction in world axes
        ("turn_line", WHOLE, SIDES),  # whether it turned about a line
        ("turn_force", FLOAT, (2, 3)),
        ("geometry", FLOAT, (GEOMETRY,)),
    ]
)
"""A place where two bodies touch."""

FRICTION, DAMPING, DRAG, DRIVES, APPLIED, CLOSING = 0, 1, 2, 3, 4, 5
CHANNELS = 6
"""Through which work is done that has no potential; the last: by the ends of bounces and of slip."""
DEGREE = 8  # number of coefficients of an island's polynomials, by powers

OPEN, SLIDING, STICKING, HELD, CARRIED, NEAR = 0, 1, 2, 3, 4, 5
"""Modes of a lasting contact: leaves; slides; sticks; is held closed without friction; stays closed by what others
hold, without force; has just parted between two implicit steps, and may press in the next."""

ISLAND = np.dtype(
    [
        ("body", WHOLE),  # first of its bodies; they are in rising order
        ("bodies", WHOLE),
        ("contact", WHOLE),  # first of its contacts
        ("contacts", WHOLE),
        ("version", WHOLE),
        ("next", WHOLE),  # in the free list
        ("ends", WHOLE),  # what the end of its piece means
        ("cause", WHOLE),  # contact that ends its mode
        ("cause_turns", WHOLE),  # whether by its slip (-1), by its rolling (0) or by its spinning (1)
        ("start", FLOAT),  # of its piece
        ("end", FLOAT),
        ("since", FLOAT),  # it has been in its modes
        ("noted", FLOAT),  # up to when its work was noted
        ("step", FLOAT),  # to try next [s]
        ("micro_step", FLOAT),
        ("short", WHOLE),  # explicit steps in a row that were short
        ("implicit", WHOLE),  # implicit steps that it still makes instead
        ("implicit_step", FLOAT),  # to try next [s]
        ("work", FLOAT, (CHANNELS, DEGREE)),  # [J] that is done in its piece, by powers of the time
    ]
)
"""Bodies that move together, in lasting contact or on joints."""

JOINT_NUMBERS = 18
JOINT_ROW = np.dtype(
    [
        ("base", WHOLE),  # the bodies, -1: nothing that moves
        ("body", WHOLE),
        ("kind", WHOLE),  # see joint_kernels
        ("joint", WHOLE),  # number of the joint
        ("geometry", FLOAT, (JOINT_NUMBERS,)),
        ("length", FLOAT),  # [m] by which a row that holds is multiplied: where it turns, its bodies' size
        ("force", FLOAT),  # of a row that holds [N], the last
        ("restitution", FLOAT),  # of a limit
        ("pair", WHOLE),  # of a limit: the row of PAIR in which its bounces and its contact are noted
        ("shown", WHOLE, SIDES),  # of a limit: the bodies of its contact
        (
            "effort",
            FLOAT,
        ),  # of what acts along it: effort + stiffness (target - value) + damping (speed - rate)
        ("stiffness", FLOAT),
        ("target", FLOAT),
        ("damping", FLOAT),
        ("speed", FLOAT),
        ("largest", FLOAT),
        ("full", FLOAT),  # 1 or -1 where it acts with its largest force, else 0
        ("driven", WHOLE),  # whether this is a drive
    ]
)
"""A coordinate between bodies that a joint holds, limits, or along which a spring, damper or drive acts."""

GROUP = np.dtype(
    [
        *((name, WHOLE, SIDES) for name in ("members", "held", "limits", "forces")),
        ("look", WHOLE),  # scratch: when it was last listed
        ("event", WHOLE),  # scratch: number of the last event that has it
        ("root", WHOLE),  # scratch: one of its members there
    ]
)
"""Bodies that always move together: first row and number of rows in the tables of each."""

PIECE = np.dtype(
    [
        ("body", WHOLE),
        ("start", FLOAT),
        ("kind", WHOLE),
        ("terms", WHOLE),  # of its polynomials, 0 where its state alone tells how it goes on
        ("state", FLOAT, (13,)),
        ("acceleration", FLOAT, VECTOR),  # of flight
    ]
)
"""A piece of motion that was begun; its polynomials stand in the pool of their numbers, piece after piece."""

EVENT = np.dtype(
    [
        ("time", FLOAT),
        ("kind", WHOLE),
        ("note", WHOLE),
        ("status", WHOLE),  # the law's code
        ("steps", WHOLE),  # that it took
        ("pieces", WHOLE),  # that were begun before it
        ("contacts", WHOLE),  # how many, in the table of these
        ("stages", WHOLE),
        ("width", WHOLE),  # numbers of each stage
        ("text", WHOLE),  # bytes of what Python has to say of it
        ("energy_change", FLOAT),
        ("until", FLOAT),  # [s], when impacts that accumulate end
    ]
)
"""Something that happened; its contacts and stages stand in tables of their own, event after event."""

EVENT_CONTACT = np.dtype(
    [
        *((name, WHOLE) for name in ("first", "second")),
        *((name, WHOLE, SIDES) for name in ("feature", "index")),
        *((name, FLOAT, VECTOR) for name in ("point", "normal", "tangent", "velocity", "impulse", "after")),
        ("along", FLOAT, POINT_SIDES),
        ("radius", FLOAT, SIDES),
        *((name, FLOAT) for name in ("gap", "friction", "restitution")),
    ]
)
"""A contact of an event, with its impulse, and its velocity before and after, in its frame (normal, tangent,
tangent2)."""

WORK = np.dtype([("origin", FLOAT), ("start", FLOAT), ("end", FLOAT), ("work", FLOAT, (CHANNELS, DEGREE))])
"""Work [J] that forces without a potential did from start to end, by powers of the time since the origin."""

JUMP = np.dtype([("time", FLOAT), ("energy", FLOAT)])
"""Energy [J] that bodies gained at once, where bounces ended or what had drifted was taken back."""

ROW = 28  # frame 9, arms of first and second 6, velocity 3, rate 3, gap, turning of the frame 3 and of the bodies 3
STAGE = 7  # largest width of a stage of a resolution, whose numbers are as each law means them

TABLES: dict[str, tuple[Any, tuple[int, ...]]] = {
    # name: (type of a row, its shape). What the scene fixes:
    "bodies": (BODY, ()),
    "shapes": (SHAPE, ()),
    "points": (FLOAT, (3,)),
    "normals": (FLOAT, (3,)),
    "edges": (FLOAT, (3,)),
    "edge_ends": (WHOLE, (2,)),
    "edge_faces": (WHOLE, (2,)),
    "face_starts": (WHOLE, ()),
    "face_corners": (WHOLE, ()),
    "materials": (FLOAT, (8,)),  # as `surface_of`; row: material of one, times their number, plus of other
    "pair_materials": (FLOAT, (10,)),  # lower and higher body, then the same; sorted
    "disabled": (WHOLE, (2,)),  # lower and higher body; sorted
    "planes": (WHOLE, ()),  # the bodies that are half-spaces
    "group_members": (WHOLE, ()),
    "levels": (LEVEL, ()),
    # what changes
    "groups": (GROUP, ()),
    "held_rows": (JOINT_ROW, ()),
    "limit_rows": (JOINT_ROW, ()),
    "force_rows": (JOINT_ROW, ()),
    "motions": (MOTION, ()),
    "coefficients": (FLOAT, (COEFFICIENT_ROWS, TERMS)),
    "places": (PLACE, ()),
    "heads": (WHOLE, ()),
    "queue": (DUE, ()),
    "pairs": (PAIR, ()),
    "pair_index": (WHOLE, ()),
    "contacts": (CONTACT, ()),
    "islands": (ISLAND, ()),
    # what a run leaves behind
    "pieces": (PIECE, ()),
    "piece_numbers": (FLOAT, ()),
    "events": (EVENT, ()),
    "event_contacts": (EVENT_CONTACT, ()),
    "stage_log": (FLOAT, ()),
    "works": (WORK, ()),
    "jumps": (JUMP, ()),
    # scratch of the event that is being handled
    "found": (WHOLE, ()),  # rows of its contacts
    "members": (WHOLE, ()),  # movable bodies
    "touched": (WHOLE, ()),  # rows of the pairs that touch
    "others": (WHOLE, ()),
    "numbers": (FLOAT, ()),  # of the impact problem
    "stages": (FLOAT, (STAGE,)),  # of its resolution
    # an island as its equations see it: its bodies, numbered from 0,
    "local_bodies": (WHOLE, ()),
    "local_groups": (WHOLE, ()),
    "local_state": (FLOAT, (13,)),  # packed
    "local_turn": (FLOAT, MATRIX),  # rotation, body to world
    "local_mass": (FLOAT, (6, 6)),  # world axes
    "local_mobility": (FLOAT, (6, 6)),
    "local_free": (FLOAT, (6,)),  # acceleration without contacts and joints
    "local_applied": (FLOAT, (6,)),  # forces but gravity
    "local_acceleration": (FLOAT, (6,)),
    "local_order": (WHOLE, ()),  # see `elimination`
    "local_degree": (WHOLE, ()),
    "local_later": (WHOLE, ()),
    "local_place": (WHOLE, ()),
    "local_diagonal": (FLOAT, (6, 6)),
    "local_off": (FLOAT, (6, 6)),
    # its contacts, and behind them what resists turning at these (turns_kernels),
    "local_contacts": (WHOLE, ()),
    "local_kind": (WHOLE, ()),
    "local_curves": (WHOLE, SIDES),  # the bodies P and F, -1: what does not move
    "local_turned": (WHOLE, ()),  # whether P is the second body
    "local_geometry": (FLOAT, (GEOMETRY,)),
    "local_mode": (WHOLE, ()),
    "local_slow": (WHOLE, ()),
    "local_slip": (FLOAT, ()),  # [m/s] at the start of a step, by which the end of slow slip is measured
    "local_direction": (FLOAT, SIDES),
    "local_placed": (FLOAT, (ROW,)),
    "local_force": (FLOAT, VECTOR),  # in its frame
    "local_ends": (WHOLE, SIDES),
    "local_jacobian": (FLOAT, (2, 3, 6)),
    "local_rate": (FLOAT, VECTOR),
    "local_friction": (FLOAT, ()),
    "local_slider": (WHOLE, ()),
    "local_sliding": (FLOAT, SIDES),
    "local_stiffness": (FLOAT, ()),
    "local_parent": (WHOLE, ()),  # the contact at which it resists turning, -1 of contacts themselves
    "local_way": (WHOLE, ()),  # then whether rolling or spinning,
    "local_along": (
        WHOLE,
        (),
    ),  # the contact towards which it rolls about a line, or how else (turns_kernels),
    "local_lever": (FLOAT, ()),  # and at which lever [m] it is a force
    # and rows of joints
    "local_rows": (WHOLE, ()),
    "joint_ends": (WHOLE, SIDES),
    "joint_jacobian": (FLOAT, (2, 6)),
    "joint_rate": (FLOAT, ()),
    "joint_speed": (FLOAT, ()),
    "joint_value": (FLOAT, ()),
    "joint_force": (FLOAT, ()),
    "joint_stiffness": (FLOAT, ()),
}
SCENE_TABLES = tuple(TABLES)[: tuple(TABLES).index("groups")]

PAIR_KINDS = 8
HEADER = np.dtype(
    [
        ("time", FLOAT),
        ("until", FLOAT),
        ("gravity", FLOAT, VECTOR),
        ("plane", FLOAT, VECTOR),  # normal of the plane of motion
        ("planar", WHOLE),
        ("all_collide", WHOLE),
        ("materials_kinds", WHOLE),
        # scales of the scene
        ("length", FLOAT),
        ("speed", FLOAT),
        ("duration", FLOAT),
        # of the event that is being handled
        ("event", WHOLE),  # its number, from 1
        ("dim", WHOLE),  # of its problem
        ("approach", FLOAT),  # largest approach before it
        ("energy_change", FLOAT),
        ("law_code", WHOLE),
        ("happened", WHOLE),  # events since the start
        ("begun", WHOLE),  # pieces since the start
        ("logs", WHOLE),  # whether what happens is noted
        ("asked", WHOLE),  # whether Python was asked to resolve it
        ("text", WHOLE),  # bytes of what it has to say of it
        ("waits_for", WHOLE),
        ("stops_at_rest", WHOLE),
        ("log_limit", WHOLE),
        ("event_limit", WHOLE),
        ("turn_limit", WHOLE),
        ("failed_first", WHOLE),
        ("failed_second", WHOLE),
        ("span", FLOAT),  # argument, and answer, of searches
        ("crawls", WHOLE),  # whether a search goes on from there
        ("crawled", WHOLE),  # how many searches have gone on since the last event,
        ("crawled_after", WHOLE),  # and how many events there were by then
        (
            "looked_after",
            WHOLE,
        ),  # how many, with one, when a pair was looked at anew whose search did not end
        ("never_rests", WHOLE),  # whether forces may change at any time
        ("moving", WHOLE),  # movable bodies that do not rest
        ("stepped", WHOLE),  # bodies that time steps move
        ("step_end", FLOAT),  # [s], up to when the motion of these is known
        ("free_contact", WHOLE),
        ("free_pair", WHOLE),
        ("free_island", WHOLE),
        ("free_slot", WHOLE),
        # how often
        ("bounds_made", WHOLE),
        ("searches_made", WHOLE),
        ("cells_left", WHOLE),
        # of the island that is open
        ("m", WHOLE),  # bodies
        ("nc", WHOLE),  # contacts
        ("nr", WHOLE),  # contacts and what resists turning at them
        ("nj", WHOLE),  # rows of joints
        ("ng", WHOLE),  # bodies that always move together, of which some are among these
        ("way", FLOAT),  # of the joint that is nearest to a limit, of its size
        ("way_rate", FLOAT),
        ("way_limit", WHOLE),
        ("stalled", WHOLE),  # most pieces that a body has begun at the instant of the last event,
        ("stalled_at", FLOAT),  # and when that was
        ("drive_margin", FLOAT),
        ("power", FLOAT, (CHANNELS,)),  # [W] of the forces applied last
        ("spring_power", FLOAT),  # [W] of springs
        ("blocks", WHOLE),  # of its matrix, off the diagonal
        ("pull", FLOAT),  # its largest acceleration [m/s^2]
        ("pace", FLOAT),  # its speed, by which errors of its steps are measured [m/s]
        ("closing_span", FLOAT),  # [s], what is left of bounces that accumulate; 0 where none do
        ("closing_speed", FLOAT),  # of these bounces [m/s]
        ("accumulated_at", FLOAT),  # [s], when the last such bounces came to their end
        ("slipped", WHOLE),  # whether a contact has just left its cone
        ("shocks", WHOLE),  # whether slip may end within a micro-step, where else no contact forces exist
        ("accuracy", FLOAT),  # of a step
        ("fixed_step", FLOAT),
        ("longest_step", FLOAT),
        ("longest_micro_step", FLOAT),
        ("longest_implicit_step", FLOAT),
        ("aside_count", WHOLE),  # contacts that are only near, behind those found
        ("joined_members", WHOLE),
        ("asked_state", WHOLE),  # address of the states that places and forces are asked about
        ("asked_time", FLOAT),
        ("asked_contact", WHOLE),  # row of a contact on a mesh
        ("asked_place", FLOAT, VECTOR),  # in the mesh's axes
        ("asked_normal", FLOAT, VECTOR),
        ("room", FLOAT),  # answer: see `features_kernels`
        ("room_within", WHOLE),  # whether it is asked for within an implicit step
        ("apart", FLOAT),  # true distance [m] of the pair of bodies whose room was asked for last,
        ("apart_pair", WHOLE),  # which is this one; -1 where that is not known
        ("looks", WHOLE),
        ("failed", WHOLE),  # whether a function in Python failed
        # parameters of the law
        ("law_order", WHOLE),
        ("law_limit", WHOLE),
        ("law_accuracy", FLOAT),
        ("law_edges", WHOLE),  # of friction pyramids
        ("law_steps", WHOLE),  # that it took
        ("stage_width", WHOLE),  # numbers of a stage that are noted
        # parts, by their addresses
        ("law", WHOLE),
        ("law_with_loss", WHOLE),  # of several contacts, of a law that differs there
        ("grow", WHOLE),
        ("place", WHOLE),
        ("hold", WHOLE),
        ("go_on", WHOLE),
        ("go_on_implicitly", WHOLE),
        ("joints", WHOLE),
        ("forces", WHOLE),
        ("functions", WHOLE),  # forces that are given in Python
        ("room_part", WHOLE),
        ("apart_part", WHOLE),  # of a cylinder and a mesh
        ("cylinder_room", WHOLE),
        ("pivots", WHOLE),
        ("search", WHOLE, (PAIR_KINDS,)),
        ("touch", WHOLE, (PAIR_KINDS,)),
        ("gap", WHOLE, (PAIR_KINDS,)),
        # tables: address, rows in use, rows there is room for
        *((f"{name}{what}", WHOLE) for name in TABLES for what in ("", "_count", "_room")),
    ]
)

_FIELDS: Any = HEADER.fields
TABLES_AT = _FIELDS["bodies"][1] // 8
NUMBER = {name: number for number, name in enumerate(TABLES)}
_words = rows_at(np.dtype(WHOLE))
header = record_at(HEADER)
"""The header of a world."""


def _opener(name):
    """What opens a table, with all the rows that it has room for, in a kernel."""
    kind, row = TABLES[name]
    return table_opener(_FIELDS[name][1] // 8, np.dtype(kind), row)


bodies, shapes, points, normals, edges = map(_opener, ("bodies", "shapes", "points", "normals", "edges"))
edge_ends, edge_faces, face_starts = map(_opener, ("edge_ends", "edge_faces", "face_starts"))
face_corners, materials, pair_materials = map(_opener, ("face_corners", "materials", "pair_materials"))
disabled, planes = map(_opener, ("disabled", "planes"))
levels, motions = map(_opener, ("levels", "motions"))
coefficients, places, heads, queue = map(_opener, ("coefficients", "places", "heads", "queue"))
pairs, pair_index, contacts, islands = map(_opener, ("pairs", "pair_index", "contacts", "islands"))
pieces, piece_numbers, events = map(_opener, ("pieces", "piece_numbers", "events"))
event_contacts, stage_log = map(_opener, ("event_contacts", "stage_log"))
works, jumps = map(_opener, ("works", "jumps"))
found, members, touched, others = map(_opener, ("found", "members", "touched", "others"))
groups, group_members, held_rows = map(_opener, ("groups", "group_members", "held_rows"))
limit_rows, force_rows, local_rows = map(_opener, ("limit_rows", "force_rows", "local_rows"))
numbers, stages = map(_opener, ("numbers", "stages"))
local_bodies, local_groups = map(_opener, ("local_bodies", "local_groups"))
local_state, local_turn = map(_opener, ("local_state", "local_turn"))
local_mass, local_mobility, local_free = map(_opener, ("local_mass", "local_mobility", "local_free"))
local_applied, local_acceleration = map(_opener, ("local_applied", "local_acceleration"))
local_contacts, local_kind, local_curves = map(_opener, ("local_contacts", "local_kind", "local_curves"))
local_turned, local_geometry, local_mode = map(_opener, ("local_turned", "local_geometry", "local_mode"))
local_slow, local_direction, local_placed = map(_opener, ("local_slow", "local_direction", "local_placed"))
local_force, local_ends, local_jacobian = map(_opener, ("local_force", "local_ends", "local_jacobian"))
local_rate, local_friction, local_slider = map(_opener, ("local_rate", "local_friction", "local_slider"))
local_slip = _opener("local_slip")
local_parent, local_way, local_lever = map(_opener, ("local_parent", "local_way", "local_lever"))
local_along = _opener("local_along")
local_sliding, joint_force, joint_speed = map(_opener, ("local_sliding", "joint_force", "joint_speed"))
joint_value, joint_rate, joint_ends = map(_opener, ("joint_value", "joint_rate", "joint_ends"))
joint_jacobian = _opener("joint_jacobian")


_GROWTHS = 100  # tries: a signal whose handler raises may cut one short


@kernel()
def reserve(world, table, rows):
    """Make room for so many rows of a table, by its number in TABLES; all its openers have to be called again."""
    words = _words(world, TABLES_AT + 3 * table + 3)
    for _ in range(_GROWTHS):
        if rows <= words[TABLES_AT + 3 * table + 2]:
            break
        call(header(world).grow, world, table, rows)
