"""What is due, the earliest first: a binary heap of bounds, cells, meetings and ends of pieces.

Entries are never taken out when what they tell of changes; they carry the versions of what they depend on, and one
with an old version is void. Entries of one time come in the order of their bodies, so that a run repeats.
"""

from ...compiled import kernel
from .tables_kernels import NUMBER, header, islands, motions, queue, reserve

BOUND, MEETING, INSIDE, CRAWLS = 0, 1, 2, 7
"""Of a pair: may meet from then on; meets; a body may leave a sensor; the search for when it meets has come that
far."""
CELL, PIECE_ENDS, ISLAND_ENDS, SETTLE = 3, 4, 5, 6
"""Of a body or island: leaves its cell; its piece ends; the piece of an island ends; is to be settled anew."""
_CELLS_FIRST, _ENDS_LAST = -1, 1 << 40  # in the place of the lower body
_QUEUE = NUMBER["queue"]


@kernel()
def comes_before(one, other):
    """Whether an entry is due before another."""
    if one.time != other.time:
        return one.time < other.time
    if one.first != other.first:
        return one.first < other.first
    if one.second != other.second:
        return one.second < other.second
    return one.what < other.what


@kernel()
def exchange(one, other):
    """Exchange two entries."""
    one.time, other.time = other.time, one.time
    one.first, other.first = other.first, one.first
    one.second, other.second = other.second, one.second
    one.what, other.what = other.what, one.what
    for k in range(2):
        one.version[k], other.version[k] = other.version[k], one.version[k]


@kernel()
def sink(heap, count, k):
    """Let entry k of a heap down to its place."""
    while True:
        least = k
        for child in (2 * k + 1, 2 * k + 2):
            if child < count and comes_before(heap[child], heap[least]):
                least = child
        if least == k:
            return
        exchange(heap[k], heap[least])
        k = least


@kernel()
def enter(world, time, first, second, what, version, other_version):
    """Put an entry into the queue."""
    w = header(world)
    if w.queue_count == w.queue_room:
        tidy(world)
    count = w.queue_count
    reserve(world, _QUEUE, count + 1)
    heap = queue(world)
    entry = heap[count]
    entry.time, entry.first, entry.second, entry.what = time, first, second, what
    entry.version[0], entry.version[1] = version, other_version
    w.queue_count = count + 1
    k = count
    while k > 0 and comes_before(heap[k], heap[(k - 1) // 2]):
        exchange(heap[k], heap[(k - 1) // 2])
        k = (k - 1) // 2


@kernel()
def enter_pair(world, time, i, j, what):
    """Put an entry of two bodies into the queue."""
    first, second = min(i, j), max(i, j)
    m = motions(world)
    enter(world, time, first, second, what, m[first].version, m[second].version)


@kernel()
def enter_cell_change(world, time, body, level):
    """A body leaves its cell of a level."""
    enter(world, time, _CELLS_FIRST, body * 64 + level, CELL, motions(world)[body].version, 0)


@kernel()
def enter_end(world, time, body):
    """The piece of a body that moves alone ends."""
    enter(world, time, _ENDS_LAST, body, PIECE_ENDS, motions(world)[body].version, 0)


@kernel()
def enter_island_end(world, time, island):
    """The piece of an island ends."""
    enter(world, time, _ENDS_LAST + 1, island, ISLAND_ENDS, islands(world)[island].version, 0)


@kernel()
def enter_settling(world, time, body):
    """A body is to be settled anew, with what it touches."""
    enter(world, time, _ENDS_LAST + 2, body, SETTLE, motions(world)[body].version, 0)


@kernel()
def is_valid(world, entry):
    """Whether what an entry tells of is still so."""
    m = motions(world)
    if entry.what == ISLAND_ENDS:
        return islands(world)[entry.second].version == entry.version[0]
    if entry.what == PIECE_ENDS or entry.what == SETTLE:
        return m[entry.second].version == entry.version[0]
    if entry.what == CELL:
        return m[entry.second // 64].version == entry.version[0]
    return m[entry.first].version == entry.version[0] and m[entry.second].version == entry.version[1]


@kernel()
def drop_first(world):
    """Take the first entry out of the queue."""
    w, heap = header(world), queue(world)
    w.queue_count -= 1
    if w.queue_count > 0:
        exchange(heap[0], heap[w.queue_count])
        sink(heap, w.queue_count, 0)


@kernel()
def drop_void(world):
    """Drop void entries from the front, so that the first is valid, where there is one."""
    w, heap = header(world), queue(world)
    while w.queue_count > 0 and not is_valid(world, heap[0]):
        drop_first(world)


@kernel()
def tidy(world):
    """Drop all void entries."""
    w, heap = header(world), queue(world)
    kept = 0
    for k in range(w.queue_count):
        if is_valid(world, heap[k]):
            if kept < k:
                exchange(heap[kept], heap[k])
            kept += 1
    w.queue_count = kept
    for k in range(kept // 2 - 1, -1, -1):
        sink(heap, kept, k)
