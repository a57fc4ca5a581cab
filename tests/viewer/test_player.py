"""The web player, opened from a file in a real browser without a display, a server or a network."""

import base64
import gzip
import html
import io
import re

import numpy as np
import pytest
from PIL import Image

from carom.bodies import Body, HalfSpace, Material, RevoluteJoint, Scene, Sphere
from carom.impact_laws import SequentialReflection
from carom.simulator import Simulator
from carom.viewer import player_frame, player_html, render, shaders
from carom.viewer.actions import GROUPS
from carom.viewer.forces import forces_at
from carom.viewer.html_player import PLAYER_KEYS
from carom.viewer.picture import force_marks
from carom.viewer.run import Run
from carom.viewer.theme import DARK, KIND_COLOURS, LIGHT, MODE_COLOURS, RUN_COLOURS, VELOCITY_COLOUR

SIZE = (1000, 640)
READY = "globalThis.caromPlayer && caromPlayer.framesDrawn > 0"


def pixels(page):
    """What the page shows, (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def browser(browsers, tmp_path_factory):
    with browsers.Browser(tmp_path_factory.mktemp("profile"), SIZE) as one:
        yield one


@pytest.fixture(scope="module")
def three_balls(balls, tmp_path_factory):
    run = balls(3)
    return run, render(run, tmp_path_factory.mktemp("page") / "balls.html", speed=0.5)


@pytest.fixture
def page(browser, three_balls):
    """The player of three balls, freshly opened."""
    browser.requests.clear()
    browser.errors.clear()
    browser.open(three_balls[1].as_uri(), READY)
    yield browser
    assert browser.errors == []


def settled(page, expression):
    """The value of an expression after the next picture."""
    page.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.ask(expression)


def test_it_asks_for_nothing_but_itself(page, three_balls):
    assert page.requests == [three_balls[1].as_uri()]
    content = three_balls[1].read_text()
    assert not re.search(r"""(src|href)=(?!["']data:)|https?://|@import|fetch\(""", content)


def test_the_picture_shows_floor_sky_and_coloured_balls(page):
    shown = pixels(page)
    redness = shown[..., 0] - shown[..., 1]
    assert (redness > 60).sum() > 300
    assert shown[100:500, 200:800].std() > 8


def test_it_plays_pauses_and_stops_at_the_end(page):
    before = pixels(page)
    page.press(" ")
    page.wait("caromPlayer.time > 0.1")
    assert page.ask("caromPlayer.playing")
    page.press(" ")
    time = page.ask("caromPlayer.time")
    assert settled(page, "caromPlayer.time") == time
    assert np.abs(pixels(page) - before).max() > 60
    page.press("End")
    assert page.ask("caromPlayer.time") == page.ask("caromPlayer.data.end")
    page.press(" ")  # from the end it starts over
    assert page.ask("caromPlayer.playing && caromPlayer.time < 1")


def test_the_timeline_scrubs(page):
    box = page.ask("(({x, y, width, height}) => [x, y, width, height])(timeline.getBoundingClientRect())")
    x, y, width, height = box
    middle = y + height / 2
    page.drag((x + width * 0.1, middle), (x + width * 0.5, middle))
    assert page.ask("caromPlayer.time") == pytest.approx(1.0, abs=0.01)
    page.click(x + width * 0.25, middle)
    assert page.ask("caromPlayer.time") == pytest.approx(0.5, abs=0.02)
    assert settled(page, "document.getElementById('time').textContent").startswith("t = 0.")


def test_marks_of_all_events_are_on_the_timeline(page, three_balls):
    colour = str(list(KIND_COLOURS["impact"][:3]))
    columns = page.ask(f"""(() => {{
      const [w, h] = [timeline.width, timeline.height];
      const all = timeline.getContext('2d').getImageData(0, 0, w, h).data;
      const found = new Set();
      for (let x = 0; x < w; x++) for (let y = 0; y < h; y++)
        if ({colour}.every((value, k) => Math.abs(all[4 * (y * w + x) + k] - value) < 3)) found.add(x);
      return [...found];
    }})()""")
    run = three_balls[0]
    places = page.ask("caromPlayer.current.events.map((event) => caromPlayer.panels.placeOf(event.time))")
    assert len(places) == len(run.events)
    assert all(min(abs(place - column) for column in columns) <= 2 for place in places)
    assert f"{len(run.events)} impact" in page.ask("legend.textContent")


def test_brackets_step_from_impact_to_impact(page, three_balls):
    times = [event.time for event in three_balls[0].events]
    for time in times[:3]:
        page.press("]")
        assert page.ask("caromPlayer.time") == time
    page.press("[")
    assert page.ask("caromPlayer.time") == times[1]
    page.press("Home")
    page.press("[")
    assert page.ask("caromPlayer.time") == 0


def test_inside_an_impact_time_stands_still_and_impulses_grow(page, three_balls):
    event = three_balls[0].events[0]
    page.press("]")
    assert settled(page, "impact.hidden") is False
    assert "restitution ends" in page.ask("impact.textContent")
    labels, impulses, velocities = [], [], []
    for _ in range(3):  # past the end it starts over, before the impact
        page.press("ArrowDown")
        page.wait("caromPlayer.stage === caromPlayer.goal")
        assert page.ask("caromPlayer.time") == event.time
        labels.append(settled(page, "impact.querySelector('.stage').textContent"))
        impulses.append(page.ask("caromPlayer.current.impulse(caromPlayer.event, 0, caromPlayer.stage)"))
        velocities.append(
            page.ask("caromPlayer.current.contactVelocity(caromPlayer.event, 0, caromPlayer.stage)")
        )
    assert [label.split(": ")[1] for label in labels] == [
        "before impact",
        "compression ends",
        "restitution ends",
    ]
    scale = np.abs(event.outcome.path.impulse).max()
    np.testing.assert_allclose(impulses, event.outcome.path.impulse, atol=1e-4 * scale)
    np.testing.assert_allclose(velocities, event.outcome.path.velocity, atol=1e-4 * scale)
    page.press("ArrowUp")
    page.wait("caromPlayer.stage === 1")
    page.press("Enter")  # plays it
    page.wait("caromPlayer.stage > 0.1 && caromPlayer.stage < 2")
    page.wait("caromPlayer.stage === 2")


def test_arrows_of_the_impulse_are_seen(page):
    page.press("]")
    settled(page, "1")
    complete = pixels(page)
    page.press("ArrowDown")
    page.wait("caromPlayer.stage === 0")
    settled(page, "1")
    assert np.abs(complete - pixels(page))[80:500, :600].max() > 60


def test_motion_in_the_page_is_the_motion_of_the_run(page, three_balls):
    run = three_balls[0]
    first = run.events[0].time
    for time in (0.0, first - 1e-6, first, first + 1e-6, 0.77, 1.9):
        for number in range(3):
            pose = page.ask(f"caromPlayer.current.pose(caromPlayer.current.shown[{number}], {float(time)!r})")
            place = np.array(pose["place"]) * page.ask("caromPlayer.data.scale") + page.ask(
                "caromPlayer.data.centre"
            )
            exact = run.sample(time)
            np.testing.assert_allclose(place, exact.position[number + 1], atol=3e-5)
            assert abs(np.dot(pose["orientation"], exact.orientation[number + 1])) > 1 - 1e-6


def test_nothing_is_smoothed_through_an_impact(page, three_balls):
    """On both sides of a bounce the speed is that of free flight, however near it is looked at."""
    event = three_balls[0].events[0]
    ball = int(event.contacts.bodies[0, 0]) - 1
    speed = abs(event.problem.u[0])

    def height(time):
        up = page.ask(
            f"caromPlayer.current.pose(caromPlayer.current.shown[{ball}], {float(time)!r}).place[2]"
        )
        return up * page.ask("caromPlayer.data.scale")

    step = 1e-3
    before = (height(event.time) - height(event.time - step)) / step
    after = (height(event.time + step) - height(event.time)) / step
    np.testing.assert_allclose([before, after], [-speed, speed], atol=0.02)


def test_mouse_orbits_pans_zooms_and_picks(page):
    camera = "[caromPlayer.camera.azimuth, caromPlayer.camera.distance, ...caromPlayer.camera.target]"
    start = np.array(page.ask(camera))
    page.drag((400, 300), (480, 320))
    orbited = np.array(page.ask(camera))
    assert orbited[0] != start[0]
    np.testing.assert_array_equal(orbited[1:], start[1:])
    page.drag((400, 300), (480, 320), "right")
    panned = np.array(page.ask(camera))
    assert np.abs(panned[2:] - orbited[2:]).max() > 0.01
    page.scroll(400, 300, -120)
    page.wait(f"caromPlayer.camera.distance < {float(panned[1])!r}")
    page.press("a")
    where = settled(
        page,
        """(() => { const p = caromPlayer; const m = p.camera.matrix(p.aspect);
      const at = [...p.current.pose(p.current.shown[1], p.time).place, 1];
      const clip = [0, 1, 2, 3].map((row) => at.reduce((sum, x, k) => sum + m[4 * k + row] * x, 0));
      const [width, height] = [p.canvas.clientWidth, p.canvas.clientHeight];
      return [(1 + clip[0] / clip[3]) / 2 * width, (1 - clip[1] / clip[3]) / 2 * height]; })()""",
    )
    page.click(*where)
    assert settled(page, "document.getElementById('body').textContent").startswith("ball 1")
    page.press("f")
    page.press("End")
    place = "caromPlayer.current.pose(caromPlayer.current.shown[1], caromPlayer.time).place"
    target, place = settled(page, f"[caromPlayer.camera.target, {place}]")
    np.testing.assert_allclose(target, place, atol=1e-12)


def test_light_and_dark_and_help(page):
    dark = page.ask("caromPlayer.night")
    one = pixels(page).mean()
    page.press("b")
    settled(page, "1")
    other = pixels(page).mean()
    assert (other > one + 40) if dark else (other < one - 40)
    assert "impact" in page.ask("keys.textContent")  # on screen from the start
    page.press("h")
    text = page.ask("help.hidden ? '' : help.textContent")
    assert all(word in text for word in ("orbit", "along its impulses", "friction cones", "light or dark"))


NAMES_OF_KEYS = {
    "space": " ", "left": "ArrowLeft", "bracketleft": "[", "down": "ArrowDown", "comma": ",", "home": "Home",
    "tab": "Tab",
}  # fmt: skip


def test_keys_mean_what_they_mean_in_the_window(page):
    """What the help says is what the window says, and every key of the player is in it."""
    told = page.ask(
        "[...help.children].map((row) => [row.children[0].textContent, row.children[1].textContent])"
    )
    actions = [action for group in GROUPS.values() for action in group if action.keys[0] in PLAYER_KEYS]
    assert len(actions) == len(PLAYER_KEYS)
    for action in actions:
        assert [action.sign, action.meaning] in told
    script = re.search(
        r"const actions = {(.*?)\n  };", page.ask("document.scripts[1].textContent"), re.DOTALL
    )[1]
    keys = {
        literal or word.strip('"')
        for literal, word in re.findall(r'(?:^|, |\s)(?:"([^"]+)"|(\w+)): \((?:e|happening)?\) =>', script)
    }
    of_the_window = {NAMES_OF_KEYS.get(key, key) for key in PLAYER_KEYS} - {"1"}
    assert of_the_window <= keys
    assert keys - of_the_window <= {
        "ArrowRight", "]", "{", "}", "ArrowUp", "Enter", ".", "End", "h", "Escape",
    }  # fmt: skip


def test_colours_and_shaders_are_those_of_the_window(page):
    look = page.ask("caromPlayer.data.look")
    assert look["runs"] == [list(one) for one in RUN_COLOURS]
    assert look["modes"] == {mode: list(one) for mode, one in MODE_COLOURS.items()}
    assert look["velocity"] == list(VELOCITY_COLOUR)
    for one, of_page in zip((LIGHT, DARK), look["themes"], strict=True):
        assert of_page["sky"] == list(one.sky)
        assert of_page["sun"] == one.sun
    sources = page.ask("caromPlayer.data.shaders")
    assert (
        sources["body"].partition("\nin vec3 place;")[2]
        == shaders.BODY_FRAGMENT.partition("\nin vec3 place;")[2]
    )
    assert "gl_Position" not in page.ask("document.scripts[1].textContent")


def test_it_counts_impacts_and_waits_for_the_first_key(page, three_balls):
    total = len(three_balls[0].events)
    assert page.ask("[caromPlayer.playing, caromPlayer.time, invitation.hidden]") == [False, 0, False]
    assert settled(page, "document.getElementById('event').textContent").startswith(f"{total} impacts")
    page.press("]")
    page.press("]")
    text = settled(page, "document.getElementById('event').textContent")
    assert text == f"impact 2/{total} · 1 contact · closed-form"
    assert page.ask("invitation.hidden")


def test_playing_through_impacts_waits_while_impulses_grow(page, three_balls):
    first = three_balls[0].events[0].time
    page.press("n")
    page.ask(f"caromPlayer.seek({float(first) - 0.02!r})")
    page.press(" ")
    page.wait(f"caromPlayer.time === {float(first)!r} && caromPlayer.stage > 0.1 && caromPlayer.stage < 2")
    page.wait(f"caromPlayer.playing && caromPlayer.time > {float(first)!r}")


def test_no_ring_around_the_page(page):
    page.press("Home")
    assert page.ask("getComputedStyle(document.getElementById('scene')).outlineStyle") == "none"


def test_ghosts_and_what_is_seen_through(page):
    page.press("End")
    settled(page, "1")
    before = pixels(page)
    page.press("g")
    settled(page, "1")
    with_ghosts = pixels(page)
    assert (np.abs(with_ghosts - before).max(axis=2) > 8).sum() > 300
    page.press("g")
    page.press("x")
    settled(page, "1")
    assert (np.abs(pixels(page) - before).max(axis=2) > 8).sum() > 300
    page.press("x")
    settled(page, "1")
    assert np.abs(pixels(page) - before).max() < 8


def test_a_run_without_a_ledger_has_no_plots_and_says_so(page):
    page.press("e")
    assert "no plots" in settled(page, "message.hidden ? '' : message.textContent")
    assert page.ask("plots.hidden")


def test_plots_show_the_ledger_and_a_click_goes_to_its_time(browser, tmp_path):
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=Material(0.3, 0.5)))
    scene.add(Body(Sphere(0.1), mass=2.0, position=(0, 0, 0.6), material=Material(0.3, 0.5), name="ball"))
    run = Simulator(scene, SequentialReflection()).run(1.0)
    browser.errors.clear()
    browser.open(render(run, tmp_path / "run.html").as_uri(), READY)
    browser.press("e")
    assert settled(browser, "!plots.hidden && caromPlayer.plots") == "beside"
    titles = browser.ask("caromPlayer.current.charts.map((chart) => chart.title)")
    assert titles[0] == "energy"
    assert {"contact velocity", "impulse"} <= set(titles)
    for time in (0.1, 0.5, 0.9):
        named = browser.ask(
            "Object.fromEntries(caromPlayer.current.charts[0].lines.map((line) =>"
            f" [line.name, valueAt(line, {time})]))"
        )
        assert named["total"] == pytest.approx(float(run.energy(time)), rel=1e-3)
    frame = browser.ask(
        "(({left, top, width, height}) => [left, top, width, height])(caromPlayer.panels.frames[0])"
    )
    corner = browser.ask("(({x, y}) => [x, y])(plots.querySelector('canvas').getBoundingClientRect())")
    browser.click(corner[0] + frame[0] + 0.25 * frame[2], corner[1] + frame[1] + 0.5 * frame[3])
    assert browser.ask("caromPlayer.time") == pytest.approx(0.25 * run.end_time, abs=0.01)
    small = browser.ask("plots.clientWidth")
    browser.press("e")
    assert settled(browser, "plots.clientWidth") > 2 * small
    browser.press("e")
    assert settled(browser, "plots.hidden")
    assert browser.errors == []


def test_forces_are_drawn_as_in_the_window(browser, tmp_path):
    """Arrows and rings of a ball that rolls, one on a hinge and one on two, from the same numbers."""
    scene = Scene()
    felt = Material(friction=0.3, rolling_friction=0.004)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=felt))
    turning = {"velocity": (1, 0, 0), "angular_velocity": (0, 12.5, 0)}
    scene.add(Body(Sphere(0.08), mass=1.0, position=(0, 0.5, 0.08), material=felt, **turning))
    bob = scene.add(Body(Sphere(0.1), mass=2.0, position=(0.4, 0, 1)))
    scene.add_joint(RevoluteJoint(bob, anchor=(0, 0, 1), axis=(0, 1, 0)))
    twice = scene.add(Body(Sphere(0.1), mass=2.0, position=(0.4, 1, 1)))
    for y in (1.2, 1.3):
        scene.add_joint(RevoluteJoint(twice, anchor=(0, y, 1), axis=(0, 1, 0), name=f"at {y:g}"))
    run = Simulator(scene, SequentialReflection()).run(0.6)
    browser.errors.clear()
    browser.open(render(run, tmp_path / "run.html").as_uri(), READY)
    browser.ask("caromPlayer.seek(0.37)")
    before = settled(browser, "1") and pixels(browser)
    browser.press("l")
    assert settled(browser, "caromPlayer.shows.forces && message.hidden")
    violet = pixels(browser) - before
    assert ((violet[..., 1] < -30) & (np.abs(violet).max(axis=2) > 60)).sum() > 150
    shown = browser.ask("caromPlayer.marks()")
    stage, forces = Run(run, "").stage, forces_at(run, 0.37)
    weight = 5.0 * np.linalg.norm(scene.gravity)
    assert sorted(forces.unique.tolist()) == [False, False, True, True]
    arrows, torques, rings = (solid.instances for solid in force_marks(stage, forces, weight))
    for found, expected in (
        (shown["arrows"], np.concatenate([arrows, torques])), (shown["rings"], rings),
    ):  # fmt: skip
        found = np.array(found).reshape(-1, 16)
        for row in expected:  # its ends and its colour; turned about its own axis in any way
            part = [2, 3, 6, 7, 10, 11, 12, 13, 14]
            own = np.argmin(np.abs(found[:, part] - row[part]).sum(axis=1))
            np.testing.assert_allclose(found[own][part], row[part], atol=0.02 * stage.arrow_length)
            widths = [np.linalg.norm(one[[0, 4, 8]]) for one in (found[own], row)]
            assert widths[0] == pytest.approx(widths[1], rel=0.02)
        assert len(found) == len(expected)
    browser.press("l")
    assert settled(browser, "!caromPlayer.shows.forces && !caromPlayer.marks().rings.length")
    assert browser.errors == []


def test_a_page_without_forces_says_so(page):
    page.press("l")
    assert "no forces" in settled(page, "message.hidden ? '' : message.textContent")


@pytest.mark.parametrize(("direction", "steepest"), [((-1, 2, 0.3), False), ((0, 0, 1), True)])
def test_a_page_is_seen_from_where_it_is_asked_to_be(balls, browser, tmp_path, direction, steepest):
    page = render(balls(2), tmp_path / "one.html", view_from=direction)
    browser.open(page.as_uri(), READY)
    away = np.array(browser.ask("caromPlayer.camera.axes()[2]"))
    cosine = away @ direction / np.linalg.norm(direction)
    assert np.all(np.isfinite(away))
    assert np.isclose(cosine, np.cos(np.radians(1.0)) if steepest else 1.0, atol=1e-12)
    assert browser.errors == []


def test_the_camera_keeps_what_still_moves_in_the_picture(balls, browser, tmp_path):
    run = balls(1, end_time=0.2)  # still high up
    drifting = balls(3)
    for one, small in ((run, False), (drifting, False)):
        browser.open(render(one, tmp_path / "one.html").as_uri(), READY)
        assert browser.ask("caromPlayer.byTime") is small
    browser.ask("caromPlayer.switchFrame()")
    far = settled(browser, "caromPlayer.camera.distance")
    browser.press("End")
    assert settled(browser, "caromPlayer.byTime && caromPlayer.camera.distance") < far
    browser.press("a")
    whole = settled(browser, "caromPlayer.camera.distance")
    assert whole >= far - 1e-6
    browser.scroll(400, 300, -120)
    browser.wait(f"caromPlayer.camera.distance < {whole!r}")
    near = browser.ask("caromPlayer.camera.distance")
    browser.press("Home")
    assert settled(browser, "caromPlayer.camera.distance") == near


def test_nothing_is_drawn_while_nothing_changes(page):
    settled(page, "1")
    drawn = page.ask("caromPlayer.framesDrawn")
    page.ask("new Promise((done) => setTimeout(done, 300))")
    assert page.ask("caromPlayer.framesDrawn") == drawn


def test_a_picture_of_another_size_is_never_black(page):
    """What a canvas held is lost with its size: it is drawn again before the page is painted."""
    width, colour = page.ask("""new Promise((done) => {
        const { canvas } = caromPlayer, gl = canvas.getContext("webgl2"), before = canvas.width;
        new ResizeObserver(() => {
            if (canvas.width === before) return; // of its beginning
            const pixel = new Uint8Array(4);
            gl.readPixels(20, 20, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
            done([canvas.width / before, Array.from(pixel)]);
        }).observe(canvas);
        canvas.style.width = "50%";
    })""")
    assert width == pytest.approx(0.5, abs=0.01)
    assert min(colour) > 50


def test_several_runs_lie_over_each_other_and_one_can_be_picked(balls, browser, tmp_path):
    runs = [balls(2), balls(3, end_time=1.0)]
    browser.errors.clear()
    path = render(runs, tmp_path / "both.html", labels=["long", "short <b>"])
    browser.open(path.as_uri(), READY)
    assert browser.ask("caromPlayer.overlaid && !runs.hidden")
    assert browser.ask("[...runs.children].map((one) => one.firstChild.nextSibling.textContent.trim())") == [
        "long",
        "short <b>",
        "all",
    ]
    browser.press("m")
    assert settled(browser, "!density.hidden && density.textContent").startswith("of 2 outcomes")
    most = np.array([253, 231, 37])  # where both outcomes are
    assert (np.abs(pixels(browser) - most).max(axis=2) < 40).sum() > 100
    browser.press("m")
    assert settled(browser, "density.hidden")
    for _ in range(3):
        browser.press("Tab")
    assert browser.ask("caromPlayer.overlaid")
    browser.press("End")
    together = pixels(browser)
    browser.press("2")
    assert settled(browser, "[caromPlayer.run, caromPlayer.overlaid]") == [1, False]
    assert browser.ask("caromPlayer.current.events.length") == len(runs[1].events)
    assert np.abs(pixels(browser) - together).max() > 40
    end = browser.ask("caromPlayer.current.pose(caromPlayer.current.shown[2], 2).place")
    assert end == browser.ask(
        "caromPlayer.current.pose(caromPlayer.current.shown[2], 1).place"
    )  # it has ended
    browser.press("0")
    assert browser.ask("caromPlayer.overlaid")
    assert browser.errors == []


def test_what_looks_the_same_in_all_runs_is_drawn_once_in_its_own_colours(balls, browser, tmp_path):
    """Blue and orange over each other would be brown."""
    alone, together = balls(2), [balls(2), balls(2)]
    browser.open(render(alone, tmp_path / "alone.html").as_uri(), READY)
    settled(browser, "1")
    expected = pixels(browser)[120:500, 320:]
    browser.open(render(together, tmp_path / "both.html").as_uri(), READY)
    settled(browser, "1")
    assert np.abs(pixels(browser)[120:500, 320:] - expected).max() <= 3
    browser.press("2")
    settled(browser, "1")
    assert np.abs(pixels(browser)[120:500, 320:] - expected).max() <= 3


def test_it_works_in_the_frame_of_a_notebook(balls, browser, tmp_path):
    path = tmp_path / "notebook.html"
    frame = player_frame(balls(2), height=400)
    path.write_text(f"<!doctype html><body><div style='display:none'>{frame}</div></body>")
    browser.errors.clear()
    browser.open(path.as_uri())
    browser.ask("new Promise((done) => setTimeout(done, 1000))")
    browser.ask("document.querySelector('div').style.display = 'block'")  # cells may be hidden at first
    for _ in range(40):  # the page around it cannot tell when the player is ready
        browser.ask("new Promise((done) => setTimeout(done, 250))")
        shown = pixels(browser)[20:300, 50:900]
        if ((shown[..., 0] - shown[..., 1]) > 60).sum() > 50:
            break
    else:
        pytest.fail("no ball was drawn")
    assert shown.std() > 8
    assert browser.errors == []


def test_a_page_without_its_data_says_so(browser, three_balls, tmp_path):
    path = tmp_path / "broken.html"
    path.write_text(re.sub(r'(id="data">)[^<]*', r"\1AAAA", three_balls[1].read_text()))
    browser.open(path.as_uri(), "!document.getElementById('message').hidden")
    text = browser.ask("document.getElementById('message').textContent")
    assert text == "The recording in this page is damaged: it cannot be unpacked."


# -- without a browser ---------------------------------------------------------------------------------------


def test_fifty_bodies_and_six_hundred_frames_stay_under_a_megabyte(balls):
    page = player_html(balls(50, end_time=10.0))
    assert len(page) < 1_000_000


def test_equal_runs_are_equal_pages(balls):
    assert player_html(balls(2)) == player_html(balls(2))


def test_the_data_of_a_page_is_complete(balls):
    run = balls(2)
    data = re.search(r'id="data">([^<]*)<', player_html(run, start=0.5, end=1.5))[1]
    content = gzip.decompress(base64.b64decode(data))
    for event in run.events:
        assert (np.float64(event.time).tobytes() in content) == (0.5 <= event.time <= 1.5)


def test_titles_cannot_break_the_page(balls):
    page = player_html(balls(1), title="</title><script>alert(1)</script>")
    assert "<script>alert" not in page
    assert html.escape("</title><script>") in page


def test_labels_are_one_for_each_run(balls):
    with pytest.raises(ValueError, match="labels: expected 2, one for each trajectory, got 1"):
        player_html([balls(1), balls(1)], labels=["one"])
    with pytest.raises(ValueError, match="at least one"):
        player_html([])
