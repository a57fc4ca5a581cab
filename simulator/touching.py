"""What touches what at the present time."""

from collections.abc import Callable, Iterable

from .collision.pairs import contact_patch, distinct_contacts, limit_contacts, pair_gap, pair_size
from .event import ContactPatch
from .motion import Motions, Pair
from .predictions import Predictions, pair_order
from .tolerances import CONTACT_GAP


class Touching:
    """Pairs and contacts, found when asked for, and known for as long as time stands still and nothing is moved."""

    def __init__(self, motions: Motions, predictions: Predictions):
        self._model, self._motions, self._predictions = motions.model, motions, predictions
        self._time = -1.0
        self._pairs: dict[int, list[Pair]] = {}
        self._contacts: dict[Pair, ContactPatch] = {}

    def forget(self) -> None:
        """Something was moved."""
        self._pairs.clear()
        self._contacts.clear()

    def around(self, pairs: set[Pair], bodies: set[int], time: float) -> tuple[ContactPatch, set[int]]:
        """All contacts connected to pairs and bodies through movable bodies that touch or are joined, in the order
        of the pairs; limits of joints after them. And these bodies."""
        self._come_to(time)
        found, members = self._connected(bodies, pairs, self._pairs_of)
        self._motions.bring(bodies | members, time)
        parts = [self._contacts_of(pair) for pair in sorted(found, key=pair_order)]
        limits = limit_contacts(self._model, members, self._motions.states)
        patch = ContactPatch.joined([*parts, limits])
        return patch.chosen(distinct_contacts(self._model, patch)), members

    def nearly(self, bodies: set[int], tolerance: float, time: float) -> ContactPatch:
        """Contacts of gaps within `tolerance`, times their size, connected to bodies through movable ones."""
        self._come_to(time)
        found, members = self._connected(bodies, set(), lambda body: self._within(body, tolerance))
        states = self._motions.states
        return ContactPatch.joined(
            [
                contact_patch(self._model, sorted(found, key=pair_order), states, tolerance),
                limit_contacts(self._model, members, states, tolerance),
            ]
        )

    def islands(
        self, bodies: set[int], open_pairs: set[Pair], tolerance: float, time: float
    ) -> list[ContactPatch]:
        """Contacts of bodies, a patch for all that are connected; of `open_pairs` those within a `tolerance`."""
        self._come_to(time)
        open_bodies = {body for pair in open_pairs for body in pair}

        def pairs_of(body: int) -> set[Pair]:
            touching = set(self._pairs_of(body))
            if body in open_bodies:
                touching |= open_pairs.intersection(self._within(body, tolerance))
            return touching

        seen: set[int] = set()
        patches = []
        for body in sorted(bodies):
            if body in seen:
                continue
            found, members = self._connected((body,), set(), pairs_of)
            seen |= members
            parts = [
                contact_patch(self._model, [pair], self._motions.states, tolerance)
                if pair in open_pairs
                else self._contacts_of(pair)
                for pair in sorted(found, key=pair_order)
            ]
            limits = limit_contacts(self._model, members, self._motions.states)
            if parts or len(limits):
                patches.append(ContactPatch.joined([*parts, limits]))
        return patches

    def _come_to(self, time: float) -> None:
        if time != self._time:
            self._time = time
            self.forget()

    def _connected(
        self, bodies: Iterable[int], pairs: set[Pair], pairs_of: Callable[[int], Iterable[Pair]]
    ) -> tuple[set[Pair], set[int]]:
        """Pairs connected to these bodies and pairs through movable bodies, of which `pairs_of` tells the pairs of
        one; and these movable bodies."""
        movable, moving_with = self._model.movable, self._model.articulation.moving_with
        found, members = set(pairs), set()
        frontier = moving_with(body for body in bodies if movable[body])
        while frontier:
            members |= frontier
            new = {pair for body in frontier for pair in pairs_of(body)} - found
            found |= new
            frontier = moving_with(body for pair in new for body in pair if movable[body]) - members
        return found, members

    def _pairs_of(self, body: int) -> list[Pair]:
        """Pairs of a body that touch."""
        if body not in self._pairs:
            self._pairs[body] = self._within(body, CONTACT_GAP)
        return self._pairs[body]

    def _within(self, body: int, tolerance: float) -> list[Pair]:
        """Pairs of a body whose gap is within `tolerance` of their size."""
        found = []
        for pair in self._predictions.near(body, self._time, tolerance):
            states = self._motions.bring(pair, self._time)
            if pair_gap(self._model, pair, states)[1] <= tolerance * pair_size(self._model, pair):
                found.append(pair)
        return found

    def _contacts_of(self, pair: Pair) -> ContactPatch:
        """Where a pair touches."""
        if pair not in self._contacts:
            self._contacts[pair] = contact_patch(self._model, [pair], self._motions.states)
        return self._contacts[pair]
