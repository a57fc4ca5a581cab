"""Contacts given by a patch, between bodies wherever they are: what the engine makes of them, without collision."""

import numpy as np

from carom import MaximumDissipation
from carom.simulator import kernels
from carom.simulator.assembly import equip
from carom.simulator.engine import contacts_kernels, gather_kernels, loop_kernels
from carom.simulator.engine.pairs_kernels import pair_row
from carom.simulator.engine.tables_kernels import HELD
from carom.simulator.movers import system_kernels
from carom.simulator.record.events import KINDS
from carom.simulator.world import World


class ContactWorld:
    """A world whose bodies have packed states (n, 13) and the contacts of a patch, each with this friction."""

    def __init__(self, model, patch, states, friction=0.0, accuracy=1e-13, longest=np.inf):
        self.model, self.count = model, len(patch)
        self.world = World.of_model(model, states)
        self.header = self.world.header
        self.header["accuracy"], self.header["longest_step"] = accuracy, longest
        equip(self.world, MaximumDissipation())
        address = self.world.address
        loop_kernels.start(address)
        self.header["queue_count"] = 0  # nothing is settled but what is said here
        gather_kernels.begin_event(address)
        pairs = np.unique(patch.bodies, axis=0).tolist()
        for first, second in pairs:
            for body in (first, second):
                gather_kernels.join(address, body)
            chosen = patch.chosen((patch.bodies == [first, second]).all(axis=1))
            contacts_kernels.add_contacts(
                address, first, second, int(pair_row(address, first, second)), chosen.point, chosen.normal,
                chosen.gap,                chosen.feature, chosen.feature_index, chosen.along, chosen.radius,
            )  # fmt: skip
        gather_kernels.sort_members(address)
        rows = np.arange(self.count)
        self.world.reserve("found", self.count)
        self.world.table("found", self.count)[:] = rows
        self.header["found_count"] = self.count
        self.world.contacts["friction"] = friction
        gather_kernels.place_found(address)
        self.bodies = self.world.members.copy()

    @property
    def kinds(self):
        """What the contacts are, see `curves_kernels`."""
        return self.world.contacts["kind"].copy()

    def rows(self, states):
        """Jacobian (3 nc, 6 m), acceleration bias, contact velocity (3 nc,) and gaps (nc,) at states (m, 13)."""
        m, count = len(self.bodies), self.count
        system_kernels.place(self.world.address, np.ascontiguousarray(states))
        ends, sides = self.world.table("local_ends", count), self.world.table("local_jacobian", count)
        jacobian = np.zeros((3 * count, 6 * m))
        for contact, side in zip(*np.nonzero(ends >= 0), strict=True):
            at = 6 * ends[contact, side]
            jacobian[3 * contact : 3 * contact + 3, at : at + 6] += sides[contact, side]
        placed = self.world.table("local_placed", count)
        bias = self.world.table("local_rate", count).ravel().copy()
        return jacobian, bias, placed[:, 15:18].ravel().copy(), placed[:, 21].copy()

    def begin(self):
        """Let all contacts be closed, and bodies move in their modes from now on."""
        self.world.contacts["mode"] = HELD
        assert loop_kernels.settle(self.world.address) == loop_kernels.REACHED

    def advance(self, until):
        """The kind of the next event, None where there is none by `until` [s]; time and states (n, 13) of every
        piece that begins, and at the end."""
        header, address = self.header, self.world.address
        header["until"], header["turn_limit"] = until, 1
        course = [(float(header["time"]), self.world.states_at(float(header["time"])))]
        while True:
            why = loop_kernels.advance(address)
            now = float(header["time"])
            course.append((now, self.world.states_at(now)))
            events = self.world.events
            if len(events):
                return KINDS[int(events["kind"][0])], course
            if why == loop_kernels.REACHED:
                return None, course
            assert why == loop_kernels.TURNS, why


def moved(states, acceleration, span):
    """States after a short time, exact to third order, under world accelerations (m, 6)."""
    result = states.copy()
    for k, state in enumerate(states):
        spin = kernels.rotation_matrix(state[3:7]) @ state[10:13]
        result[k, :3] += span * state[7:10] + 0.5 * span**2 * acceleration[k, :3]
        result[k, 7:10] += span * acceleration[k, :3]
        turn = span * spin + 0.5 * span**2 * acceleration[k, 3:]
        angle = np.linalg.norm(turn)
        w, v = np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * turn
        q = state[3:7]
        result[k, 3:7] = [w * q[0] - v @ q[1:], *(w * q[1:] + q[0] * v + np.cross(v, q[1:]))]
        R = kernels.rotation_matrix(result[k, 3:7])
        result[k, 10:13] = R.T @ (spin + span * acceleration[k, 3:])
    return result
