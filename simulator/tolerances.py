"""Every tolerance of the engine: unit, reason, and what changing it breaks."""

CONTACT_GAP = 1e-9
"""[m per m of body size] Points closer than this at an event belong to it. Larger merges contacts that are
apart; below 1e-12 rounding splits a face landing into single corners."""

TOUCH_GAP = 1e-14
"""[m per m of size] A gap this small counts as zero in the root search: a few units in the last place of a
coordinate. Larger makes impact times early, smaller makes the search chase rounding."""

PENETRATION = 5e-13
"""[m per m of size] Deepest overlap the event search may pass over without an event (touching points whose
speed is rounding). Larger shows as overlap, smaller makes resting contacts trigger on rounding."""

DEEPEST = 1e-10
"""[m per m of size] Deepest overlap that a search for an impact passes over where bodies touch all the time and
hardly leave, and it would need tens of thousands of steps. Larger shows. Smaller: searches that do not end."""

MOST_SEARCH_STEPS = 100_000
"""Steps after which a search for an impact gives up, and the run says so."""

LEAST_CRAWL = 1e-2
"""[of the scene's duration] By how much a search must have come forward in so many steps to be gone on with later.
Smaller: runs that hardly get on. Larger: bodies that slide along each other without pressing end the run."""

MOST_CRAWLS = 300
"""Searches that may be gone on with in a row while nothing else happens, each of which takes some milliseconds.
Larger: runs that get nowhere, where one body is far slower than rounding of another. Smaller: as LEAST_CRAWL."""

FLAT_EDGE = 1e-10
"""[sine of the bend] Triangles that bend less at their common edge are one face there. Larger: real ridges are not
felt. Smaller: rounding makes ridges on flat faces, at which sliding corners would stop."""

SLIVER = 1e-13
"""[of a mesh's size] Triangles thinner than this have no direction and are left out; their neighbours remain."""

STAR_SLOPE = 1e-6
"""[sine] How far the surface around a touching corner or edge may lean over the plane of contact. Larger: contacts
that other features shield. Smaller: contacts of nearly parallel faces are lost."""

SIDEWAYS = 1e-12
"""[m per m of size] A point this far beside a triangle, or two edges this far beyond their ends, still touch.
Smaller: rounding lets corners slip between triangles. Larger: hits where there are none."""

SAME_PLACE = 1e-8
"""[m per m of size] Features of meshes that touch this close together touch at one place."""

HELD_PLACE = 1e-6
"""[m per m of size] Touching features this close to a lasting contact are held with it: where round edges come to
their ends, the ends touch too. Larger: contacts beside it count as one. Smaller: they are taken for impacts."""

LEAST_REACH = 4e-8
"""[m per m of size] How far a contact slides past sharp features that meet at its place before these are looked at
anew. Smaller than a few SAME_PLACE: they still count as one. Larger: what parts from it closes unseen."""

SAME_NORMAL = 1e-6
"""[length of the difference] Normals this close at one place are one contact."""

APPROACH = 1e-10
"""[of the scene's speed] Slower approach at touch is rounding of a velocity that the law set to zero, not an
impact. Larger: slow impacts are lost. Smaller: rounding brings impacts without end."""

LEAST_APPROACH = 1e-11
"""[of the scene's speed] Laws leave approach slower than this: it is less than APPROACH, and of the rounding of
what moves elsewhere. Larger: laws leave impacts. Smaller: contacts that strike each other in turn, in heaps that
settle, go on until nothing is left of an impact that was next to nothing."""

FAINT = 1e-7
"""[of the scene's speed] Of a slower approach a law need not find an outcome: where it finds none, slip ends within
a micro-step, as where no contact forces keep bodies apart. Larger: what fails is not said. Smaller: runs end where
bodies that are wedged begin to slip."""

IMPATIENT, MOST_PATIENCE = 12, 12
"""Impacts of a body at one instant, each so many of which double APPROACH, and how often they may: what laws leave
of an approach at stiff joints is more than rounding."""

APPROACH_SPEED = 1e-10
"""[m/s] Slower approach at touch is rounding of a velocity that the law set to zero, not an impact."""

OVERLAP = 1e-9
"""[m per m of size] Overlap refused in an initial configuration."""

LASTING = 1e-9
"""[of the scene's speed] Touching points that separate slower than this are candidates for lasting contact."""

STRAIGHT_SLIP = 1e-10
"""[m/s] Slip that leaves its line by less over a step goes straight, with friction along that line. Larger:
friction errs in direction. Smaller than what laws leave beside the line: stops of slip take many small steps."""

FORCE_MARGIN = 1e-9
"""[of the largest contact force] Slack before a negative normal force or a violated cone is an event."""

SURELY_FAILS = 1e-3
"""[of the largest force] How negative the margin of a mode must be at a stage within a step that ends well, to be
looked at. Smaller: stages, which are less exact than the step, end it. Larger: pulls that pass are not seen."""

JOINT_RANK = 1e-13
"""[square of the part of a row, of unit length, that others do not bar] Rows of joints below it depend on others.
Larger: joints of bodies very unlike in mass are lost. Smaller: closed loops are solved for rounding."""

PLANE_SPEED = 1e-12
"""[of the speed] Velocity out of the plane of a planar scene that is taken for rounding at the start."""

OFF_JOINTS = 1e-12
"""[of the kinetic energy before an impact] Work of impulses of joints that is noted: joints that hold do none.
Larger: the ledger does not close. Smaller: its rounding is noted with each impact."""

DRIVE_MARGIN = 1e-9
"""[of the largest force of a drive] How far a drive must ask for more, or less again, to change. Zero: it changes
for ever at the boundary."""

JOINT_START = 1e-9
"""[m or rad, and a second] Violation of a joint refused in an initial configuration."""

SERIES_ACCURACY = 1e-17
"""[relative] Last Taylor term of free rotation kept over one piece. Larger loses energy digits."""

LEAST_TURN = 1e-3
"""[rad] Less than this in one series of free rotation, which is a radian or two: most of its terms are more than
numbers hold, and the run ends. Larger: ends spins that can be followed. Smaller: millions of pieces."""

STEP_ACCURACY = 1e-13
"""[relative] Error of a step of motion in contact that is accepted, unless the user's `Integrator` says otherwise.
Larger lets held contacts drift, smaller cannot be met in double precision."""

VARIATIONAL_TOUCH_GAP = 1e-12
"""[gap_scale] Gap from which on a contact touches. Larger makes impacts that meet the end of a step early,
smaller than rounding of the gap makes resting contacts fall through."""

VARIATIONAL_TOGETHER_GAP = 1e-9
"""[gap_scale] Contacts this close at an impact belong to it. Larger merges impacts that are apart, smaller lets
rounding split simultaneous ones."""

VARIATIONAL_REST_RATE = 1e-8
"""[√(2 · kinetic energy), with what forces add to it in a step] Touching contacts that move slower along their
normal, in the kinetic metric, rest. Smaller than what laws leave of an approach makes impacts repeat."""

VARIATIONAL_PULL = 1e-9
"""[as VARIATIONAL_REST_RATE] Normal impulse of a step by which a resting contact may pull before it is let go."""

VARIATIONAL_CONSISTENT = 1e-10
"""[gap_scale; relative for velocities] Violation of constraints and overlap that a start may have."""

VARIATIONAL_SAME_TIME = 1e-12
"""[step_size] What is left of a step counts as nothing below this."""

VARIATIONAL_SAME_FRACTION = 1e-9
"""[step_size] A run longer than whole steps by less than this has a longer last step instead of one more."""


# -- lasting contact ---------------------------------------------------------------------------------------

MICRO_STEP = 1e-8
"""[of the scene's duration] First step by which contact modes are found. Larger: modes are entered with its error.
Smaller: changes of velocity over it lose digits."""

LEAST_STEP = 1e-10
"""[of the scene's duration] Shorter steps are not tried: motion in contact could not be continued."""

MICRO_GAIN = 1e-11
"""[of mass times the square of the scene's speed] Energy that a micro-step may gain by its error. Larger: shows.
Smaller: micro-steps shrink to where their error is rounding."""

SHORT_STEP, MOST_SHORT, SHORT_AGAIN = 1e-3, 48, 8
"""[of the scene's duration; steps] Explicit steps shorter than this, so many in a row, and then so many, make an
island go on by implicit steps. Longer, or fewer: motion that explicit steps follow is followed less exactly."""

MOST_SHORT_ALONE = 480
"""[steps] The same of one body that is wedged between others that do not move. Fewer: what could be followed
exactly is not. More: hundreds of thousands of pieces where it chatters on two walls."""

IMPLICIT_AT_ONCE = 100
"""[steps] After so many implicit steps explicit ones are tried again."""

IMPLICIT_STEP = 0.02
"""[of the scene's duration] Longest implicit step."""

IMPLICIT_ERROR = 1e-6
"""[of the length of the scene] What one implicit step may be off from two of half its span, in place and by what
velocities differ over it. Larger: shows. Smaller: more steps at stops and starts of slip."""

IMPLICIT_FORCES = 1e-9
"""[of the largest acceleration, or velocity over the step] What forces of implicit steps are solved to."""

IMPLICIT_OVERLAP = 2e-10
"""[of the length of the scene] Overlap within an implicit step for which it is made again, shorter."""

IMPLICIT_GAIN = 1e-8
"""[of mass times the square of the scene's speed] By how much energy may be higher within an implicit step than at
its ends. Larger: an impact within the step keeps it. Smaller: more steps."""

RIM_OVERLAP = 5e-11
"""[of the length of the scene] Overlap of a rim at the end of an implicit step for which it is made again, with a
point of the end there."""

CUT_SHORT = 10.0
"""[CONTACT_GAP] Gap of a contact within an implicit step, at whose end it is closed, from which on it is open where
something else cuts the step short. Smaller: what is only off within the step opens. Larger: bodies are pulled
shut."""

RIM_SPEED = 1e-5
"""[of the scene's speed] Slower approach of the rim of a cylinder that goes on by implicit steps is no impact: its
lowest point runs around. Larger: impacts are lost. Smaller: an impact each microsecond."""

NEAR_WAY = 2.0
"""[of what the largest acceleration moves a body by over a step, twice] Contacts that part by less may press again.
Smaller: contacts that chatter are an impact each step. Larger: rows that never press."""

SURE_SLIP = 1e3
"""[of what the largest acceleration stops within a micro-step] Slip faster than this does not stop within it, and
its friction has a known direction. Smaller: stops are missed. Larger: friction cones are solved for nothing."""

FORCE_ACCURACY, FORCES_FOUND = 1e-11, 1e-6
"""[of the largest acceleration] What the force problem is solved to, and what is accepted where it gets no
further."""

FORCE_SHARE = 1e-10
"""[of the largest contact force] Contacts that press less do not press."""

MODE_RATE = 1e-7
"""[of the largest acceleration] Contacts that open, or slip, at the end of a micro-step with less than this over
its length do not."""

SLOW_STOP, SLOW_START = 1e-9, 1e-5
"""[of the scene's speed] Slip that slows down below the first, or starts and is below the second, keeps the
direction of its friction. A stop is off by the first times the square of the angle by which slip would still have
turned; a start has the right direction, and its error grows with the square of the second."""

TURNING = 0.3
"""[of what the largest acceleration adds to a speed over a step] Slip slower than this, or than what its friction
alone adds, may turn faster than explicit steps follow: directions are then unknowns of the step. Larger: costs more
a step. Smaller: more steps."""

SAME_MOTION = 1e-8
"""[of the largest acceleration] Forces that change accelerations by less are as good as others."""

ON_CONE = 1e-4
"""[of the friction that a contact can bear] So near its cone a sticking contact is at its edge."""

REST, REST_PULL = 1e-8, 1e-6
"""[of the scene's speed, and of the largest acceleration without contact] Below both a body is at rest."""

MODE_ACCURACY = 1e-13
"""[of the largest acceleration] Acceleration of held contacts and joints that counts as none."""

ROUNDED_STEP = 1e-9
"""[relative] Error of a step that is accepted where it is rounding, since it does not shrink with the step as the
method's own does: where a rim leans so little that its lowest point runs. Smaller: steps of 1e-11 s. Larger: motion
that a rim, all but flat, makes within microseconds loses digits."""

PRESSES_AGAIN = 1e-6
"""[of the largest contact force] A contact that others keep closed has this much force before its mode is asked
again."""

DRIFT = 1e-14
"""[of the scene's length and speed] Drift of what is held closed that is left as it is."""

FAR_BACK = 30.0
"""[of what is off] Farther bodies are not moved to bring back what has drifted. Smaller: long levers are refused.
Larger: contacts at one place that ask for different things throw bodies about."""

BOUNCE_WAY = 2e-9
"""[of the size] Once approach times interval of bounces stays below this, bodies stay within CONTACT_GAP of each
other, and the rest of infinitely many bounces is summed. Larger: leaves a visible jump. Smaller: only adds
impacts."""

ROUNDED_WAY = 1e-12
"""[of the size] Bounces so small are rounding of places, and end also where a cylinder's rim moves on meanwhile.
Larger: rims are held that roll. Smaller: bounces that grow no smaller, for thousands of impacts."""

BOUNCE_SPEED = 1e-3
"""[of the scene's speed] Faster impacts do not end so, however often they follow: what they take is felt."""

CLOSING_SPAN = 1e-3
"""[of the scene's duration] Bounces that go on for longer are not summed yet, however small they are: what moves
beside them moves on, and they may be impacts that only happen to be slow."""

SAME_RATIO = 1e-3
"""[relative] Intervals of bounces that shrink by ratios this near shrink by one ratio."""

FIRST_STEP = 0.05
"""[of the scene's duration] First step of an island's motion that is tried."""

STAY = 2.0
"""[CONTACT_GAP] how far beyond its end a feature still holds a contact."""

NO_MOTION = 1e-24
"""[square of its length] what is left of a row of a joint or contact in the plane of a planar scene, where it is
about no motion in it."""

CAN_OPEN = 1e-6
"""[of the mobility of a contact alone] what is left of it where others keep it closed."""

STOPPED_SLIP = 1e-8
"""[of the scene's speed] speed below which slip has stopped where it ends."""

FORCE_FLOOR = 1e-3
"""[weight of the lightest body] least force with which those of contacts are compared."""

SLIDES = 1e-7
"""[of the speed of what touches, or of a fall by its size] Slip above which a contact pushes against it when forces
are found from motion. Smaller: rounding of what sticks has a direction. Larger: slow slip may push anywhere in its
cone."""

FORCE_RANK = 1e-9
"""[of the largest singular value] Forces found from motion are not unique where they change motion by less.
Smaller: rounding decides between feet of a table. Larger: forces far from bodies' centres count as undecided."""

ON_LINE = 1e-3
"""[of the way between two contacts; for that way, of the size of their bodies] A third contact no farther from the
line through them is on it, so that bodies roll about it. Larger: narrow faces roll. Smaller: edges are faces by
rounding."""

SAME_PLANE = 1.0 - 1e-6
"""[cosine] Contacts of two bodies whose normals are this near have one plane. Larger: none have, by rounding.
Smaller: a body in a groove rolls as on a face."""
