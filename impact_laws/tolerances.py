"""Every tolerance of the impact laws: unit, reason, and what changing it breaks.

Compiled kernels take these as constants; the kernel stamp covers this file, so an edit recompiles them.
"""

SYMMETRY_ACCEPTED = 1e-6
"""Largest |W - Wᵀ| over largest |W|, dimensionless, that is symmetrised without asking. Covers the rounding
of J M⁻¹ Jᵀ in single precision. Larger: a wrong W passes in silence. Smaller: honest W are refused."""

SYMMETRY_REPAIRED = 1e-2
"""The same for `ImpactProblem.symmetrised`, for printed or measured W with two or three digits."""

NEGATIVE_EIGENVALUE = 1e-6
"""Most negative eigenvalue of W over its largest, dimensionless. Rank deficiency is normal and its zeros
round to either side. Larger: a W that creates energy passes. Smaller: hyperstatic contact sets are
refused."""

APPROACH = 1e-11
"""A contact approaches when u_n/√W_nn is below minus this times the largest |u_n/√W_nn| before the impact,
dimensionless. Larger: slow real impacts are dropped. Smaller: rounding of earlier reflections counts as new
impacts."""

LCP_TIE = 1e-7
"""Two ratios of Lemke's ratio test are one when they differ by less than this, relative (scaled problem). It
decides robustness: at 1e-13 some 8 % of degenerate impact problems end on a false ray, at 1e-7 none of 60,000
did."""

LCP_TIE_FLOOR = 1e-3
"""Absolute part added to the sum of both ratios before LCP_TIE multiplies it (scaled problem, ratios of order
one)."""

LCP_PIVOT = 1e-9
"""Smallest pivot in Lemke's ratio test (scaled problem). Larger: true pivots are skipped and a false ray
appears. Smaller: rounding is taken for a pivot and the tableau is destroyed."""

LCP_LEXICOGRAPHIC = 1e-9
"""Entries of the basis inverse within this are equal when ties are broken lexicographically (scaled
problem)."""

LCP_FINE_TIE = 1e-10
"""As LCP_TIE, in one more attempt where a solution leaves a residual between LCP_POLISH and LCP_NEARLY, and in
every other restart after that."""

LCP_NEARLY = 1e-6
"""Largest residual of a solution that is wrong in what is small, and may have been taken for a tie. Larger: an
attempt more for what is wrong in the large. Smaller: slip of a few 1e-9 of the approach ends as inaccurate."""

LCP_RESIDUAL = 1e-9
"""Largest |min(z, w)| (scaled problem, max|q| = 1) of a solution that is accepted without a restart."""

LCP_POLISH = 1e-13
"""Residual above which the last basis is solved again from the scaled data, which removes the tableau's
rounding."""

LCP_RESTARTS = 24
"""Restarts with another covering vector before a ray or an inaccurate solution is reported. The sequence of
covering vectors is fixed, so that answers repeat bit for bit. Fewer: rare degenerate problems fail. More:
rays take longer."""

LCP_RESTART_TIES = (1e-6, 1e-7, 1e-8, 1e-9)
LCP_RESTART_PIVOTS = (1e-8, 1e-9, 1e-10)
"""Tie and pivot tolerances that the restarts go through in turn; a problem that fails with one of them may
pass with another. Wider: wrong bases, caught by the residual. Narrower: as for LCP_TIE and LCP_PIVOT."""

ROUNDING = 1e-14
"""Rounding of a velocity u + W p, relative to the largest entry of W p, that no solver can be blamed for."""

LCP_ZERO_DIAGONAL = 1e-12
"""A diagonal entry at most this times the sum of |entries| of its row and column counts as zero, and the row is
scaled by its couplings instead. Larger: weak contacts of mixed-mass problems are scaled badly. Smaller:
rounding sets the scale."""

OUTCOME_RESIDUAL = 1e-8
"""Largest approach left after the impact, as a fraction of the largest measure before it, and largest scaled
LCP residual of an outcome called resolved. Larger: wrong outcomes pass. Smaller: hyperstatic problems report
failure."""

ENERGY_GAIN = 1e-9
"""Energy gain, as a fraction of |p·u| + ½ p·Wp, above which an outcome is called energy_gained instead of
resolved."""

PRESSES = 1e-6
"""[of the largest approach measure] A contact presses that is stopped by more than this, and then has the normal
velocity that it is asked for within it; and responses to impulses do not cancel each other to less than this share.
Larger: impulses of contacts in each other's way pass, however large."""

RESTITUTION_GAIN = 1e-12
"""[of what the impulse takes from the motion before it] Energy that restitution may add: rounding. Larger: shows,
since the share of the coefficients that counts is the one that loses nothing. Smaller: more steps for rounding."""

RESTITUTION_SHARE, RESTITUTION_STEPS, RESTITUTION_FAILURES = 1e-9, 60, 6
"""How closely the largest share of the coefficients of restitution is found, in how many steps at most, and after
how many that found no solution at all."""

LCP_SEMIDEFINITE = 1e-12
"""Negative eigenvalue of M + Mᵀ, of the largest, that is rounding: a ray then proves that there is no solution.
Larger: solutions of matrices that are indefinite are not looked for. Smaller: they are looked for in vain."""

ENUMERATION_UNKNOWNS = 16
"""Most unknowns for which complementary bases are enumerated: 2**16 bases take about 0.1 s, each more doubles
it."""

ENUMERATION_SOLUTIONS = 1024
"""Most distinct solutions kept by the enumeration; more is an error, never a cut list."""

ENUMERATION_SINGULAR = 1e-10
"""Pivot (scaled problem, complete pivoting) below which a complementary basis counts as singular and is left
out. Smaller: bases of rank-deficient problems give huge false solutions. Larger: badly scaled true bases are
lost."""

ENUMERATION_FEASIBLE = 1e-9
"""Most negative z or w (scaled problem, max|q| = 1) of an enumerated solution."""

ENUMERATION_MISS, MOVES = 1e-11, 1e-8
"""[of the largest speed] By how much conditions on velocities may be missed when all that contacts may do is
enumerated, and from which speed on a contact slides or separates and does not stick. The second closer to the
first: contacts at rest are taken to slide too, and are looked at in all modes. Larger: slower slip is not found."""

DISTINCT = 1e-7
"""Two solutions or outcomes are one when every component differs by less than this, relative to the
largest."""

STRONGE_TAYLOR = 1e-15
"""Size of the last two Taylor terms of slip, relative to slip or to what the smallest possible normal impulse of
friction changes slip by, whichever is more, at which a step of the Stronge law ends. Larger: impulses lose digits.
Smaller: more steps for rounding."""

STRONGE_TAIL = 1e-15
"""Error of the series of an approach to a stop, relative to the smallest possible normal impulse.
Larger: impulses of impacts that stick lose digits. Smaller: more steps before a stop."""

STRONGE_SINGULAR = 1e-13
"""Determinant of the tangential block over its squared trace below which it counts as singular, and share of
W_nn below which a normal velocity counts as stuck. Larger: nearly planar contacts are solved as planar.
Smaller: rounding decides the direction of sticking."""

STRONGE_STEPS = 1000
"""Steps of one impact before the law gives up with a status. A usual impact takes ten."""

STRONGE_ISOTROPIC = 1e-14
"""Difference of the tangential mobilities of a contact, and coupling to its normal, relative, up to which slip
never turns. Larger: slip that turns slowly is taken as straight. Smaller: spheres whose W is rounded take the
long way."""

STRONGE_JAMMED = 1e-12
"""Share of the approach velocity that counts as none left where a contact without normal mobility has
stopped. Larger: slow remains are dropped. Smaller: rounding of a stop reads as endless approach."""

ALIKE = 1e-6
"""[of the fastest] Difference of normal velocities below which contacts approach alike, and share an impact at once
before they are taken in turn. Larger: more impacts pay for sweeps that they do not need. Smaller: the corners of a
face that comes down all but flat share unevenly, as rounding has it."""

RELAXATION_GAIN = 0.1
"""Gain that short Newton steps must make over the relaxation before them to go on. Larger: stalled steps are
repeated. Smaller: steps that would converge are given up."""

SLIP_ISOTROPIC = 1e-14
"""Coupling d, and mu times the difference of the principal values of the tangential block, each relative to
mu b1 + |d|, that count as none when invariant directions are found. Larger: weak couplings are dropped.
Smaller: rounding of an isotropic contact reads as directions."""

SLIP_DOUBLE = 1e-12
"""Distance from the astroid (p1/k)^(2/3) + (p2/k)^(2/3) = 1, on which two invariant directions meet, within
which they count as one. Larger: close pairs are merged. Smaller: rounding decides between two, three and
four."""

SLIP_ENDED = 1e-13
"""Share of the slip before the impact below which a curve of slip is taken to have stopped. Larger: the end
of the curve is cut. Smaller: more steps that no picture shows."""

DISSIPATION_SINGULAR = 1e-13
"""Share of the tangential mobility below which the mobility left at zero normal velocity counts as zero in a
direction (maximum dissipation, one contact). Larger: badly scaled contacts are solved as singular. Smaller:
rounding decides the impulse along directions that need none."""

DISSIPATION_RIDGE = 1e-14
"""Mobility added to a singular contact, as a share of its tangential mobility, so that of all minimisers the
one of least norm is taken. Larger: the objective moves. Smaller: the impulse along free directions is
rounding."""

PLANAR_SINGULAR = 1e-14
"""Tangential stiffness of a planar contact at zero normal velocity, relative, below which it is none, and pull
[relative to the largest velocity] below which that moves nothing. Larger: stiff contacts slide or stick at will.
Smaller: rounding decides their impulse."""

DISSIPATION_DEGENERATE = 1e-15
"""Share of the largest velocity component below which the normal velocity counts as zero. It decides between
separation and an impulse without collision beyond the critical friction. Larger: slow separation counts as
grazing. Smaller: rounding decides the impulse of a grazing contact."""

DISSIPATION_PARABOLA = 1e-14
"""Distance from one of the eccentricity μ |A_nt|/A_nn that still counts as a parabola, the rounding of
critical friction. Larger: impulse without collision below the critical friction. Smaller: none at it."""

DISSIPATION_ROOT = 1e-2
"""Relative step of the multiplier at which its iteration hands over to the last Newton steps. Larger: those
fail and are repeated. Smaller: iterations that the last steps do better."""

DISSIPATION_POLISH = 1e-9
"""Relative length of the last Newton step, which converges quadratically. Larger: impulses lose digits.
Smaller: a step more."""

CONJUGATE_ASTRAY = 30.0
"""Times the least residual seen, above which conjugate directions begin anew where that was. Larger: they stay
astray for longer. Smaller: they are broken off where they lead to less on the way."""

CONJUGATE_STAYS = 200
"""Sweeps that do not halve the residual, after which no conjugate directions are taken. Larger: cycles go on for
longer. Smaller: what comes nearer slowly is broken off."""

CONJUGATE_LOOK = 10
"""Sweeps over a network after which its residual is looked at. Larger: more are made than need be. Smaller: looking
costs as much as sweeping."""

NEWTON_SHIFTS = (0.0, 1e-8, 1e-5, 1e-3)
"""[of a diagonal of ones] Added to the matrix of a Newton step, in turn, where it is singular or leads nowhere."""

RELAXATION_POLISH = 1e-3
"""The same for a contact inside a relaxation sweep, whose other contacts move anyway; the residual is always
judged with DISSIPATION_POLISH. Larger: more sweeps. Smaller: a step more at every contact."""

RELAXATION_ACCEPTED = 100.0
"""[tolerance] Residual that is accepted where Newton's method after the first sweeps brings it no nearer, but
nothing approaches any more and no energy is gained: contacts of a face that are off their plane by rounding
contradict each other by that. Larger: forces of contacts are wrong. Smaller: such problems take thousands of
sweeps, or count as unsolved."""

RELAXATION_FINEST = 1e-13
"""[of the largest impulse] Tolerance at which a solution that leaves an approach is not made finer: what is left is
rounding. Larger: impulses that wedge bodies hide an impact. Smaller: steps that bring it no nearer."""

RELAXATION_SLIDING = 1.0 - 1e-9
"""Share of the cone's tangential impulse from which a contact counts as sliding when its last impulse is looked at.
Larger: rounding makes a sliding contact a sticking one. Smaller: sticking ones are taken for sliding."""

COULOMB_SAME_SLIP = 0.5
"""Cosine of the largest turn within which a sliding direction continues the last one, where several exist. Larger:
sliding contacts jump to other solutions. Smaller: the solution is not the nearest."""

RELAXATION_ALIGNED = 0.9
"""Squared cosine between the changes of two sweeps above which they are extrapolated as a geometric series.
Larger: slow sweeps are seldom shortened. Smaller: extrapolations that lead astray and cost sweeps."""

DISSIPATION_ITERATIONS = 300
"""Iterations for the multiplier before its best value is taken; a usual contact takes four, bisection over
all of double precision 60. Fewer: extreme scales stay unsolved."""

SLIP_ON_DIRECTION = 1e-14
"""Sine of the angle to an invariant direction within which slip is said to start on it. Larger: slip that
turns away is called straight. Smaller: a direction that rounds is missed."""

COULOMB_SCAN = 48
"""Angles at which sliding directions are looked for where Newton's method from the last one fails
(Coulomb-like friction, one contact). Fewer: close pairs of solutions are missed. More: slower where none is
near."""

DISSIPATION_REFINED = 1e-5
"""Determinant of the tangential mobility at zero normal velocity over its squared trace below which a single
contact is refined with velocities of twice the precision. Larger: slower. Smaller: contacts of very uneven
mobility lose digits of the objective."""

STRONGE_STRAIGHT = 1e-14
"""[rad] Angle from an attracting invariant direction below which slip is taken as straight. Larger: impulses lose
digits. Smaller: slip that creeps along the direction takes steps without end."""

ROUTH_STEP = 1.0
"""Largest normal impulse of one step of the set-valued law, in units of the impulse that stops the fastest contact
alone, where no step is given. Larger: outcomes near simultaneous compression are drawn more often. Smaller: more
steps."""

ROUTH_APPROACH = 1e-9
"""Approach that ends an impact of the set-valued law, as a fraction of the largest contact velocity before it,
normal or tangential (kinetic metric), which is what errors of the complementarity solver scale with. Larger: small
approaches are left. Smaller: errors cost further steps, without end where slip is fast and approach slow."""

ROUTH_SHORTEST, ROUTH_LONGEST = 0.1, 100.0
"""Mean lengths of impulse over which a contact keeps its rate, in units of the impulse that stops the fastest
contact alone; a sample draws its own between them, evenly in the logarithm. A smaller least one: contacts that take
turns quickly, which are near steady rates, and more steps. A larger greatest one: more impacts of one contact after
the other."""

ROUTH_SPREAD = 10.0
"""How much longer or shorter than its sample's usual length a rate holds at most; evenly in the logarithm. Larger:
more kinds of sequences in one sample. Smaller: all changes come at about one pace."""

ROUTH_SHORTEST_STEP = 0.01
"""Least length of a step over the largest, where a rate changes. Larger: changes come late. Smaller: short
steps."""

ROUTH_IN_TURN = 0.125
"""Share of samples in which one contact alone presses until it has finished. Larger: fewer samples of all else.
Smaller: sequences of many contacts are rare."""

RETURN_TRIES = 6
"""Solves of a step in which the impulses of contacts that return energy are corrected; three find them where slip
does not turn. Fewer: energy is left for later steps."""

RETURN_ACCURACY = 1e-12
"""[of what is to be returned] How exactly a step returns it. Larger: restitution is off. Smaller: rounding is
solved for."""

RETURN_SPENT = 1e-11
"""Energy left to return, over that before the step or that of the fastest contact alone, that counts as none.
Larger: energy is lost. Smaller: steps for rounding."""

RETURN_JAMMED = 1e-9
"""Work of a contact that returns energy, over what its impulse would do against its own inertia, below which
nothing can be returned: it is wedged. Larger: slow returns are cut off. Smaller: wedged contacts take all steps."""

ROUTH_RESTITUTIONS = 100
"""Restitution phases of one impact of the set-valued law, after which what approaches is only stopped. Fewer:
rattling contacts lose energy. More: they take longer."""

STEP_FEASIBLE = 1e-10
"""Velocity, over the largest of the contacts (kinetic metric), by which a mode of a step may break a condition.
Larger: wrong modes pass. Smaller: rounding hides solutions."""

STEP_GAIN = 1e-10
"""Energy a step may gain, over the energy of the fastest contact alone, and still count as rounding. Larger: wrong
steps pass. Smaller: badly scaled problems are refused for rounding."""

STEP_SINGULAR = 1e-11
"""Pivot of a mode's equations, with columns of size one, that counts as zero; its corner modes take its place.
Larger: ill-conditioned modes are left out. Smaller: singular ones give noise."""

MODE_SPEED = 1e-6
"""Velocity, over the largest contact velocity before the impact, below which a contact of an outcome counts as
closed or as sticking. Larger: slow outcomes lose their modes. Smaller: rounding gives them wrong ones."""

SET_GROWTH = 0.01
"""Share by which the hull of outcomes may grow with twice as many samples and still count as not growing. Larger:
stops early. Smaller: the rare corners of a set keep it going."""

SET_RANK = 1e-7
"""Extent of outcomes in a direction, over the largest contact velocity, below which the set counts as flat in it.
Larger: thin sets lose their width. Smaller: rounding counts as width."""

TERMINATION_RANK = 1e-12
"""Eigenvalue of W, scaled to a unit diagonal, over its largest, below which it counts as zero. Larger: motions
that light bodies allow are dropped. Smaller: rounding of a rank-deficient W reads as mobility."""

TERMINATION_POINTED = 1e-9
"""Cosine between a direction and the effects of all cone edges below which the cone does not count as pointed.
Larger: wedges that are nearly closed are refused. Smaller: rounding opens closed ones."""

STRONGE_NO_SLIP = 1e-100
"""Slip below this share of the contact velocity counts as none. Larger: slip that starts from almost nothing is
lost. Smaller: its square underflows."""

BOUNDS_RANK = 1e-12
"""Eigenvalue of W over its largest below which a direction of the contact velocity counts as unreachable.
Larger: weak directions are cut off. Smaller: rounding of dependent contacts becomes directions."""

BOUNDS_OFF_RANGE = 1e-6
"""Share of u that W may leave out of reach before the problem is refused: no kinetic energy belongs to it."""

BOUNDS_PARALLEL = 1e-9
"""Sine below which unit vectors count as dependent. Larger: thin cells are flattened. Smaller: rounding of a
coincidence is taken for an angle."""

BOUNDS_SLACK = 1e-12
"""Width added to cells, as a share of the speed before the impact (kinetic metric). Larger: bounds loosen by
that. Smaller: sets that only touch a cell are lost by rounding."""

BOUNDS_ON_BORDER = 1e-9
"""Distance from a cell, on the same scale, within which the state before the impact counts as inside. Larger:
needless cells are started from. Smaller: a tangent velocity that is zero but for rounding is taken at its word."""

BOUNDS_SETTLED = 1e-9
"""Growth of a support value, on the same scale, that counts as none, in the iteration and in its verification.
Larger: bounds that a step still leaves. Smaller: growth by rounding is followed."""

BOUNDS_NARROWED = 1e-7
"""Shrinking of a support value, on the same scale, that is not worth another round."""

BOUNDS_ACCEPTED = 1e-7
"""Share of the largest contact speed within which `OutcomeBounds.contains` accepts by default. Larger: strangers
pass. Smaller: the approaches of 1e-9 with which the law ends are refused."""

BOUNDS_NO_ROOM = 1e-8
"""Width of the bounds, as a share of the largest contact speed, that counts as none for `Tightness`."""

BOUNDS_PATIENCE = 30
"""Sweeps before sets are enlarged by growth that is still to come. Fewer: looser. More: slower."""

BOUNDS_AHEAD_EVERY = 10
"""Sweeps from one such enlargement to the next, in which growth finds its rate again."""

BOUNDS_AHEAD = (8.0, 3e-3)
"""Largest multiple of the last growth that is added, and growth on the scale above that may be added whatever the
multiple. Larger: looser, until sets that feed each other run away. Smaller: more sweeps."""

BOUNDS_FACETS = 2000
"""Facets spanned by impulses and edges of cells up to which all of them are kept. More: tighter and slower."""

BOUNDS_NARROWINGS = 6
"""Rounds that shrink a closed set after extrapolation. Fewer: looser. More: slower."""

BOUNDS_GRIP = 1e4
"""Effect of friction over that of the normal impulse above which a contact that sticks is bounded as if friction
had no limit. Larger: multiples of nearly opposite impulses lose digits. Smaller: looser."""

CHECKED_APPROACH = 1e-8
"""Approach after an impact, of the largest before, above which `check_law` calls it one: that of the contract.
Larger: laws that leave contacts approaching pass. Smaller: solvers' residuals are called faults."""

CHECKED_CONE = 1e-12
"""Friction outside its cone, of the largest impulse, above which `check_law` calls it a fault. Larger: wrong cones
pass. Smaller: rounding is called a fault."""

CHECKED_ENERGY = 1e-12
"""Growth of energy, of the sum of all terms of the work, above which `check_law` calls it a fault. Larger: laws
that gain energy pass. Smaller: rounding is called a fault."""

DISTRIBUTING_TAYLOR = 1e-15
"""Size of the last two Taylor terms of the distributing law, of the largest velocity before the impact and of a
typical compression, at which a step ends. Larger: impulses lose digits. Smaller: more steps for rounding."""

DISTRIBUTING_LIGHT = 2e-17
"""Velocity that a force may give over a step, of the largest before the impact, and not be counted: that of a
contact that begins. Larger: impulses lose digits. Smaller: more steps where a contact begins."""

DISTRIBUTING_ZERO = 1e-15
"""Normal velocity, on the same scale, that is none: compression ends above it, and begins below minus it. Larger:
work is lost. Smaller: rounding switches contacts to and fro."""

DISTRIBUTING_STOPPED = 1e-12
"""Speed of slip on the same scale at which slip stops: above DISTRIBUTING_ZERO and below DISTRIBUTING_STARTED.
Larger: friction turns late. Smaller: rounding is followed as slip."""

DISTRIBUTING_STARTED = 1e-11
"""Speed of slip on the same scale up to which slip that starts keeps the direction in which it started, and from
which a contact that begins to press slides. Larger: friction turns late. Smaller: rounding decides its
direction."""

DISTRIBUTING_LEFT = 1e-13
"""Velocity on the same scale that stored energy may still give when an impact counts as ended, where nothing
approaches. Larger: energy is lost. Smaller: rounding bounces on."""

DISTRIBUTING_RETURNED = 1e-14
"""Share e² of the energy of a compression below which nothing is returned. Larger: small coefficients do not count.
Smaller: steps of expansions that nobody sees."""

DISTRIBUTING_RUNAWAY = 1e8
"""Compression, of what would stop the largest velocity alone, beyond which a contact will never return its energy.
Larger: later said. Smaller: contacts that can hardly move count as such."""

DISTRIBUTING_AT_REST, DISTRIBUTING_LOCKED = 1e-10, 1e-12
"""Normal velocity, on the same scale and above DISTRIBUTING_STARTED, and share of forces that is not balanced,
below which pressed contacts are wedged. Larger: slow motion counts as none. Smaller: rounding counts as
motion."""

DISTRIBUTING_SHARE = 1e-9
DISTRIBUTING_AT_BOUND = 1.0 - DISTRIBUTING_SHARE
"""Share of the largest friction from which a contact without slip starts to slide, and what is rounding of it.
Larger: it is tried in vain to let it stick. Smaller: slides too early."""

DISTRIBUTING_JUST = 1e-7
"""Share beyond the largest friction up to which slip starts along the friction before: what an event is late by,
at most. Larger: friction jumps by that. Smaller: dependent contacts that start together start in different
directions."""

DISTRIBUTING_FROM_REST = 1e-8
"""Rate at which slip starts, of what its friction alone would give, that counts as none. Larger: slip that starts
slowly turns wrongly. Smaller: noise in friction of contacts that depend on each other is followed."""

DISTRIBUTING_FADED = 1e-3
"""Force, of that at the beginning of a step, below which it is not asked whether a contact goes on to stick: it
ends. Larger: slip starts late. Smaller: rounding of forces that vanish starts it."""

DISTRIBUTING_SETTLED, DISTRIBUTING_SWEEPS = 1e-13, 100
"""Change of friction, of its bound, at which sweeps over contacts without slip end, and how many there are at
most."""

DISTRIBUTING_DEPENDENT, DISTRIBUTING_EVEN, DISTRIBUTING_REFINED = 1e-6, 1e-4, 4
"""Response to friction of contacts that stick, scaled to one each, below which contacts count as dependent; the
least share of normal force, of the largest, for which a contact of these holds less; and how often friction is
refined. Larger: weak motions creep though contacts stick. Smaller: rounding distributes friction."""

RATIO_GRID = (1.0, 0.25, 1.0)
"""Decades of stiffness ratio between the first points at which outcomes of one, two and three contacts are looked
for. Larger: sets within a cell are missed. Smaller: slower."""

RATIO_CLOSE = 4.3e-4
"""Decades of stiffness ratio (a factor of 1.001) at which neighbours with distant outcomes are taken for a jump.
Larger: steep slopes have gaps. Smaller: points are spent on jumps."""

COMPLIANT_STEPS, COMPLIANT_ROUNDS, COMPLIANT_LEFT = 48, 30, 1e-13
"""Steps to a quarter of the fastest oscillation of an impact on springs, rounds of a step at most, and change of
velocity, of the velocity before, at which they end. With 48 steps impulses are within 1e-4 of the exact ones. Fewer
steps: less exact. Fewer rounds, or a larger change: energy is gained."""
