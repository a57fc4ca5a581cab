import re

import pytest

from carom import Body, HalfSpace, Material, Scene, SequentialReflection, Simulator, Sphere
from carom.viewer.actions import GROUPS, press
from carom.viewer.heads_up import HeadsUp, body_lines, contact_lines, fitted, quantity, shortened, walk_words
from carom.viewer.replay import Replay
from carom.viewer.run import Run

SIZE = (1280, 720)


class Recorder:
    """An overlay that notes what is drawn; letters are as wide as half their size."""

    def __init__(self):
        self.words, self.boxes, self.extents = [], [], []

    def text(self, words, x, y, *, size=13, anchor="left", colour=None, paper=False):
        width = self.width(words, size)
        left = x - {"left": 0, "right": width, "center": width / 2}[anchor]
        self.words.append(words)
        self.extents.append((left, y - size, left + width, y + size))

    def width(self, words, size):
        return 0.75 * size * len(words)

    def box(self, x, y, width, height, colour, radius=6):
        self.boxes.append((x, y, width, height, colour))

    def line(self, *_):
        pass

    def sheet(self, key, draw):
        draw(self)

    def disc(self, *_):
        pass

    def play_sign(self, x, y, *_):
        self.words.append("▶")
        self.extents.append((x, y, x, y))


def drawn(replay, size=SIZE, unit=1.0, pointer=None):
    overlay = Recorder()
    HeadsUp(replay, size, unit).draw(overlay, pointer)
    return overlay


@pytest.fixture
def one(fakes):
    return Replay([Run(fakes.bouncing_ball(), "ball")])


@pytest.fixture
def three(fakes):
    return Replay([Run(fakes.bouncing_ball(restitution=e), f"e = {e}") for e in (0.8, 0.6, 0.4)])


def test_the_keys_that_matter_are_always_on_screen(one, three):
    assert any("[ ] next impact" in words and "H help" in words for words in drawn(one).words)
    assert any("1–9 one outcome" in words and "0 all" in words for words in drawn(three).words)
    press(one, "bracketright")
    words = drawn(one).words
    assert any("↓ ↑" in word and "inside the impact" in word for word in words)
    assert any(re.match("stage 1/1", word) for word in words)


def test_until_anything_is_done_it_says_how_to_play(one):
    assert not any("space plays" in words for words in drawn(one).words)
    one.invites = True
    assert any("space plays" in words for words in drawn(one).words)
    layout = HeadsUp(one, SIZE, 1.0)
    box = layout.invitation_box
    middle = box.left + box.width / 2, box.bottom + box.height / 2
    assert layout.hit(*middle) == ("play", 0.0)
    press(one, "space")
    assert not any("space plays" in words for words in drawn(one).words)
    assert layout.hit(*middle) is None


def test_plots_are_enlarged_by_a_click_on_their_title(one):
    press(one, "e")
    layout = HeadsUp(one, SIZE, 1.0)
    small = layout.plot_box
    assert layout.hit(small.left + 20, small.bottom + small.height - 8) == ("plots", 0.0)
    press(one, "e")
    large = layout.plot_box
    assert large.width > 2.5 * small.width
    assert large.left + large.width < SIZE[0]


def test_help_names_every_key(one):
    press(one, "f1")
    words = drawn(one).words
    for group in GROUPS.values():
        for action in group:
            assert action.sign in words
            assert action.meaning in words


def test_impacts_are_marked_where_they_are(one):
    left, right = HeadsUp(one, SIZE, 1.0).track
    overlay = drawn(one)
    for time in one.runs[0].impact_times:
        x = left + one.timeline.fraction_of(time) * (right - left)
        assert any(
            abs(box[0] + box[2] / 2 - x) < 1.1 and box[4][:3] == (255, 132, 52) for box in overlay.boxes
        )


@pytest.mark.parametrize("unit", [1.0, 2.0])
def test_play_track_and_outcomes_are_hit_where_they_are_drawn(three, unit):
    layout = HeadsUp(three, (int(SIZE[0] * unit), int(SIZE[1] * unit)), unit)
    middle = layout.bar.bottom + layout.bar.height / 2
    left, right = layout.track
    assert layout.hit(40 * unit, middle)[0] == "play"
    kind, fraction = layout.hit(left + 0.25 * (right - left), middle)
    assert (kind, fraction) == ("track", pytest.approx(0.25))
    assert layout.hit(100 * unit, 400 * unit) is None
    found = [layout.hit(40 * unit, layout.height - (48 + 24 * row + 12) * unit) for row in range(5)]
    assert found == [("outcome", -1.0), ("outcome", 0.0), ("outcome", 1.0), ("outcome", 2.0), None]


def test_a_long_list_of_outcomes_scrolls_to_the_chosen_one(fakes):
    runs = [Run(fakes.bouncing_ball(bounces=2), f"number {number}") for number in range(30)]
    replay = Replay(runs)
    replay.choose(25)
    assert "number 25" in drawn(replay).words
    assert "number 0" not in drawn(replay).words


def test_the_time_under_the_pointer_is_told(one):
    layout = HeadsUp(one, SIZE, 1.0)
    left, right = layout.track
    pointer = ((left + right) / 2, layout.bar.bottom + 40)
    extra = set(drawn(one, pointer=pointer).words) - set(drawn(one).words)
    assert extra == {f"t = {one.timeline.duration / 2:.3f} s"}


def test_the_panel_of_a_body(one):
    press(one, "bracketright")
    press(one, "bracketright")
    one.picked = 1
    lines = {word: value for word, value, _ in body_lines(one)}
    assert lines["ball"] == "Sphere"
    assert lines["mass"] == "1 kg"
    impacts = [word for word in lines if word.startswith("impact")]
    assert len(impacts) == 2
    assert "ball" in drawn(one).words


def test_the_panel_of_contacts(one):
    press(one, "bracketright")
    lines = [(word, value) for word, value, _ in contact_lines(one, one.contacts(0)[0])]
    assert lines[1][0] == "ball – floor"
    assert ("separating", "1") in lines


@pytest.mark.parametrize("size", [(1280, 720), (480, 300), (1920, 1080)])
def test_nothing_is_written_outside_the_picture(three, size):
    press(three, "bracketright")
    three.picked = 1
    press(three, "h")
    three.say("A sentence.")
    for left, bottom, right, top in drawn(three, size).extents:
        if size[0] >= 1280:
            assert left >= 0
            assert right <= size[0]
        assert bottom >= -2
        assert top <= size[1] + 2


@pytest.fixture(scope="module")
def dropped():
    """A real run: a ball that bounces twice."""
    scene = Scene()
    material = Material(friction=0.0, restitution=0.5)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(Body(Sphere(0.1), density=1000.0, position=(0, 0, 0.6), material=material, name="ball"))
    return Simulator(scene, SequentialReflection()).run(0.6)


def test_plots_show_the_instant_and_a_click_goes_to_its_time(dropped):
    replay = Replay([Run(dropped, "ball")])
    assert "energy [J]" not in drawn(replay).words
    press(replay, "e")
    assert "energy [J]" in drawn(replay).words
    layout = HeadsUp(replay, SIZE, 1.0)
    box = layout.plot_box
    found = [layout.hit(box.left + 60 + 20 * column, box.bottom + 60) for column in range(12)]
    times = [time for kind, time in found if kind == "time"]
    assert len(times) > 8
    assert times == sorted(times)
    replay.seek(times[4])
    assert replay.timeline.time == times[4]
    assert layout.hit(box.left + 2, box.bottom + 2) == ("panel", 0.0)
    press(replay, "e", shift=True)
    assert any("ΣΛ" in words for words in drawn(replay).words)


def test_the_cursor_of_plots_moves_on_inside_an_impact(dropped):
    replay = Replay([Run(dropped, "ball")])
    press(replay, "e", shift=True)
    press(replay, "bracketright")
    press(replay, "down")
    words = []
    for _ in range(3):
        words.append([word for word in drawn(replay).words if word.startswith("kinetic")])
        press(replay, "down")
    assert words[0] != words[1] != words[2]


def test_quantities_and_names_are_short():
    assert quantity(-0.1234567, "J") == "−0.1235 J"
    assert quantity(1e-17, "J") == "0 J"
    assert shortened("a long name", 6) == "a lon…"
    assert shortened("short", 6) == "short"


def test_in_a_narrow_window_the_hint_leaves_room_for_the_legend(three):
    press(three, "bracketright")
    for width in (520, 640, 800, 1280):
        overlay = drawn(three, (width, 500))
        (hint,) = [number for number, words in enumerate(overlay.words) if "H help" in words and number > 3]
        (legend,) = [
            number
            for number, words in enumerate(overlay.words)
            if words.endswith(" impacts") and words[0].isdigit()
        ]
        assert overlay.extents[hint][0] > overlay.extents[legend][2]
    narrow = drawn(three, (800, 500)).words[hint]
    assert "[ ] next impact" in narrow
    assert "↓ ↑ step inside it" in narrow


def test_the_steps_of_an_impact_lie_beside_the_plots(dropped):
    for size in ((800, 500), (1280, 720)):
        replay = Replay([Run(dropped, "ball")])
        press(replay, "e")
        press(replay, "bracketright")
        layout = HeadsUp(replay, size, 1.0)
        overlay = drawn(replay, size)
        words = overlay.words.index("↓ ↑  inside the impact")
        assert overlay.extents[words][0] > layout.plot_box.left + layout.plot_box.width
        assert max(extent[2] for extent in overlay.extents[words : words + 2]) < size[0]


def test_the_panel_of_an_impact_tells_where_inside_it_one_is(dropped):
    replay = Replay([Run(dropped, "ball")])
    press(replay, "bracketright")
    walk = replay.walk
    said = []
    for place in (0.0, 0.25, 1.0):
        walk.position = place
        said.append(walk_words(walk))
    assert said[0] == "before impact"
    assert said[1] == "stage 1/2, 25 % of it"
    assert said[2].startswith("stage 1/2: ")


def test_long_names_of_runs_and_bodies_stay_in_their_boxes(fakes):
    names = ["W" * 40, "a very long label of the second one", "short"]
    replay = Replay([Run(fakes.bouncing_ball(), name) for name in names])
    overlay = Recorder()
    heads_up = HeadsUp(replay, SIZE, 1.0)
    heads_up.draw(overlay)
    rows = [row for _, row in heads_up._outcome_rows()]
    for words, (left, bottom, right, top) in zip(overlay.words, overlay.extents, strict=True):
        for row in rows:
            if row.holds(left, (bottom + top) / 2):
                assert right <= row.left + row.width, words
    assert "short" in overlay.words


def test_a_table_keeps_words_off_its_values(one):
    overlay = Recorder()
    lines = [
        ("contacts", "impulse", None),
        ("the floor of the hall – a box with a long name", "12.34 N s", None),
    ]
    HeadsUp(one, SIZE, 1.0)._draw_table(overlay, 400.0, lines)
    (word, value) = overlay.extents[2:]
    assert word[2] + 7.9 <= value[0]
    assert overlay.words[2].endswith("…")


@pytest.mark.parametrize("room", [0.0, 5.0, 20.0, 77.0, 500.0])
def test_fitted_words(room):
    overlay, words = Recorder(), "some words that are long"
    found = fitted(overlay, words, room, 10.0)
    assert found == words or found.endswith("…")
    assert found == "…" or overlay.width(found, 10.0) <= room
    assert (found == words) == (overlay.width(words, 10.0) <= room)
