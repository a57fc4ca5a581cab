"""The window with real keys, mouse and sizes, in a process and on an X server of its own."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LINKS = HERE.parents[1] / ".links"

pytestmark = [
    pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="no Xvfb"),
    pytest.mark.skipif(ctypes.util.find_library("Xtst") is None, reason="no XTEST library, libxtst6"),
]


@pytest.fixture
def in_window(needs_gl, tmp_path):
    """Run a script, the body of a generator of `s` (session) and `r` (its replay), on fake trajectories."""

    def run(script, trajectories="[bouncing_ball()]", screen="1024x768x24", before=""):
        code = "\n".join(
            [
                "import numpy as np",
                "from fake_trajectory import bouncing_ball, mixed_scene",
                "from window_session import play",
                "from x_input import *",
                "from carom.viewer.display import load_pyglet" if before else "",
                "load_pyglet(for_window=True)" if before else "",
                textwrap.dedent(before),
                "def script(s):",
                "    r, w, x = s.replay, s.window, s.input",
                textwrap.indent(textwrap.dedent(script), "    "),
                f"play({trajectories}, script)",
            ]
        )
        path = tmp_path / "session.py"
        path.write_text(code)
        environment = os.environ | {"PYTHONPATH": f"{LINKS}{os.pathsep}{HERE}"}
        command = ["xvfb-run", "-a", "-s", f"-screen 0 {screen}", sys.executable, str(path)]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, cwd=tmp_path
        )
        assert result.returncode == 0, result.stdout + result.stderr

    return run


def test_keys_play_jump_and_step_inside_an_impact(in_window):
    in_window("""
        x.move(*s.at(320, 250))
        yield
        assert not r.timeline.playing and r.timeline.time == 0 and r.invites and w.frames_drawn > 0
        x.key("space"); yield
        yield
        assert r.timeline.playing and r.timeline.time > 0 and w.frames_drawn > 1 and not r.invites
        x.key("space"); yield
        assert not r.timeline.playing
        x.key("Home"); yield
        x.key("bracketright"); yield
        first = r.timeline.impact_times[0]
        assert r.timeline.time == first and r.walk.at_end
        x.key("Down"); yield
        assert r.walk.position == 0 and r.timeline.time == first
        x.key("Down"); x.key("Down"); yield
        assert 0 < r.walk.position < r.walk.length
        x.key("Up"); yield
        x.key("bracketright"); x.key("bracketright"); yield
        assert r.timeline.time == r.timeline.impact_times[2]
        x.key("bracketleft"); yield
        assert r.timeline.time == r.timeline.impact_times[1]
        x.key("Right"); yield
        assert r.timeline.impact_times[1] < r.timeline.time < r.timeline.impact_times[1] + 0.02
        x.key("Right", "Shift_L"); yield
        assert r.timeline.time > r.timeline.impact_times[1] + 0.1
        x.key("period"); yield
        assert r.timeline.speed == 2
        x.key("End"); yield
        assert r.timeline.time == r.timeline.end
    """)


def test_it_says_what_it_draws_before_the_first_picture(in_window):
    """Shaders and meshes take a while: until then the window is neither black nor silent."""
    in_window(
        """
        yield
        assert seen and seen[0].min() > 15, seen
        shades = seen[0].astype(int)
        assert np.ptp(shades[..., 0]) > 100  # letters on a plain ground
        assert (np.abs(shades - shades[0, 0]).max(axis=2) < 3).mean() > 0.9
        """,
        before="""
        from ctypes import c_void_p
        from pyglet import gl
        from carom.viewer import window as module
        seen, made, shown = [], module.Renderer, module.ReplayWindow.flip

        def renderer(*arguments):
            module.ReplayWindow.flip = shown
            return made(*arguments)

        def flip(self):
            pixels = np.empty((400, 640, 3), dtype=np.uint8)
            gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
            gl.glReadPixels(0, 0, 640, 400, gl.GL_RGB, gl.GL_UNSIGNED_BYTE, pixels.ctypes.data_as(c_void_p))
            seen.append(pixels)
            shown(self)

        module.Renderer, module.ReplayWindow.flip = renderer, flip
        """,
    )


def test_help_opens_with_f1_and_escape_closes_it_then_the_window(in_window):
    in_window("""
        x.move(*s.at(320, 250))
        x.key("Home"); yield
        before = s.pixels().astype(int)
        x.key("F1"); yield
        assert r.look.help
        assert np.abs(s.pixels() - before).mean() > 20
        x.key("Escape"); yield
        assert not r.look.help
        x.key("h"); yield
        assert r.look.help
        x.key("h"); yield
        assert np.abs(s.pixels() - before).mean() < 3
        s.expects_to_be_closed = True
        x.key("Escape")
        for _ in range(5):
            yield
    """)


def test_drawing_what_is_closed_does_nothing(in_window):
    in_window("""
        s.expects_to_be_closed = True
        drawn = w.frames_drawn
        w.close()
        w.draw_picture()
        r.changed = True
        w.update()
        w.close()
        assert w.frames_drawn == drawn
        yield
    """)


def test_the_mouse_scrubs_plays_orbits_pans_zooms_and_picks(in_window):
    in_window("""
        layout = w.heads_up()
        left, right = layout.track
        middle = layout.bar.bottom + 40
        x.move(*s.at(40, middle)); x.click(); yield
        assert r.timeline.playing
        x.click(); yield
        assert not r.timeline.playing
        x.drag([s.at(left + share * (right - left), middle) for share in (0.1, 0.3, 0.5)]); yield
        assert abs(r.timeline.fraction - 0.5) < 0.01, r.timeline.fraction
        x.drag([s.at(right, middle), s.at(right + 300, middle + 200)]); yield
        assert r.timeline.fraction == 1
        eye = r.camera.eye
        x.drag([s.at(200, 250), s.at(240, 255), s.at(280, 260)]); yield
        assert abs(r.camera.eye - eye).max() > 0.1 and r.picked is None
        target = r.camera.target
        x.drag([s.at(200, 250), s.at(240, 255), s.at(280, 260)], RIGHT); yield
        assert abs(r.camera.target - target).max() > 0.05
        x.key("a"); yield
        spot = r.camera.project(r.runs[0].state(r.timeline.time).position[1][None], r.aspect)[0]
        ball = s.at((spot[0] + 1) / 2 * w.width, (spot[1] + 1) / 2 * w.height)
        far = r.camera.distance
        x.move(*ball); x.click(WHEEL_UP); yield
        assert abs(r.camera.distance - 0.9 * far) < 1e-9
        after = r.camera.project(r.runs[0].state(r.timeline.time).position[1][None], r.aspect)[0]
        assert abs(after - spot).max() < 0.05
        x.click(LEFT); yield
        assert r.picked == 1
        x.key("f"); yield
        assert r.follows
        x.move(*s.at(30, 380)); x.click(LEFT); yield
        assert r.picked is None and not r.follows
    """)


def test_another_size_keeps_the_picture_whole(in_window):
    in_window("""
        x.key("space"); yield
        w.set_size(900, 500); yield
        yield
        assert s.pixels().shape == (500, 900, 3)
        assert abs(r.aspect - 1.8) < 1e-9
        left, right = w.heads_up().track
        x.move(*s.at((left + right) / 2, w.heads_up().bar.bottom + 40)); x.click(); yield
        assert abs(r.timeline.fraction - 0.5) < 0.01
    """)


def test_nothing_is_drawn_while_nothing_changes(in_window):
    in_window("""
        x.move(*s.at(320, 250)); x.key("space"); yield
        while w._is_draft:
            yield
        yield
        drawn = w.frames_drawn
        for _ in range(4):
            yield
        assert w.frames_drawn == drawn
        x.key("v"); yield
        assert w.frames_drawn > drawn
    """)


def test_outcomes_are_chosen_by_key_and_click(in_window):
    in_window(
        """
        x.move(*s.at(320, 250)); x.key("space"); yield
        assert r.chosen is None
        x.key("2"); yield
        assert r.chosen == 1
        x.key("Tab"); yield
        assert r.chosen == 2
        number, row = w.heads_up()._outcome_rows()[1]
        x.move(*s.at(row.left + 20, row.bottom + 8)); x.click(); yield
        assert r.chosen == number == 0 and r.picked is None
        x.key("0"); yield
        assert r.chosen is None
        overlaid = s.pixels().astype(int)
        x.key("d"); yield
        assert r.side_by_side
        assert np.abs(s.pixels() - overlaid).mean() > 3
        """,
        "[bouncing_ball(restitution=e) for e in (0.8, 0.6, 0.4)]",
    )


def test_drafts_are_drawn_while_the_camera_moves_if_pictures_are_slow(in_window):
    in_window("""
        x.move(*s.at(320, 250)); x.key("space"); yield
        yield
        import carom.viewer.window as window
        window.SLOW_PICTURE = 0.0  # so that every machine counts as slow
        s.pixels()
        x.drag([s.at(200, 250), s.at(240, 255), s.at(280, 260)])
        w.dispatch_events()
        w.draw_picture()
        assert w._is_draft
        for _ in range(50):
            yield
            if not w._is_draft:
                break
        assert not w._is_draft
    """)


def test_after_a_jump_a_coarse_picture_comes_first_where_drafts_are_slow_too(in_window):
    in_window("""
        x.move(*s.at(320, 250)); x.key("space"); yield
        import carom.viewer.window as window
        window.SLOW_PICTURE = window.SLOW_DRAFT = 0.0  # so that every machine counts as slow
        s.pixels()
        drawn = []
        for key in ("bracketright", "bracketright", "bracketright"):
            x.key(key)
            w.dispatch_events()
            w.update()
            drawn.append(w._renderer.drawn_size)
        assert drawn[1:] == [(320, 200)] * 2 and drawn[0] != (640, 400), drawn
        for _ in range(50):
            yield
            if not w._is_draft:
                break
        assert w._renderer.drawn_size == (640, 400)
    """)


def test_files_dragged_onto_the_window_open_and_bad_ones_are_said(in_window):
    in_window("""
        import carom
        from x_drag import FileDrag
        scene = carom.Scene()
        scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, name="stone"))
        for name in ("stone.h5", "other stone.h5"):
            carom.Simulator(scene, carom.SequentialReflection()).run(0.5).save(name)
        open("bad.h5", "w").write("no recording")
        x.move(*s.at(320, 250)); x.key("space"); yield

        def drag(*paths, types=("text/uri-list",)):
            files = FileDrag(w._window, paths, types)
            for place in (100, 200, 300):
                files.move(*s.at(place, 250)); yield
                files.answer()
            assert files.accepted and "XdndFinished" not in files.replies
            files.drop(); yield
            files.answer(); yield
            files.answer(); yield
            assert files.replies[-1] == "XdndFinished", files.replies
            files.close()

        yield from drag("bad.h5")
        assert "bad.h5" in r.message.text and r.runs[0].name == "run 1"
        yield from drag("stone.h5")
        assert [run.name for run in r.runs] == ["stone.h5"]
        assert r.runs[0].stage.bodies[0].name == "stone"
        x.hold("Shift_L"); yield
        yield from drag("other stone.h5")
        x.release("Shift_L"); yield
        assert [run.name for run in r.runs] == ["stone.h5", "other stone.h5"]
        many = ("x-special/gnome-icon-list", "text/plain", "UTF8_STRING", "text/uri-list")
        yield from drag("stone.h5", "other stone.h5", types=many)
        assert [run.name for run in r.runs] == ["stone.h5", "other stone.h5"]
        s.pixels()
    """)


def test_what_is_no_file_is_refused_and_its_source_told(in_window):
    in_window("""
        from x_drag import FileDrag
        x.move(*s.at(320, 250)); x.key("space"); yield
        for types in (["text/plain"], ["text/plain", "STRING", "UTF8_STRING", "TEXT"]):
            words = FileDrag(w._window, [], types)
            words.move(*s.at(200, 250)); yield
            words.answer()
            assert words.accepted is False
            words.drop(); yield
            words.answer()
            assert words.replies[-1] == "XdndFinished"
            words.close()
        assert r.runs[0].name == "run 1" and r.message is None
    """)


def test_shift_held_elsewhere_counts_when_a_file_is_dropped(in_window):
    in_window("""
        x.move(*s.at(320, 250)); x.key("space"); yield
        assert not w.shift_at_pointer()
        x.hold("Shift_L"); yield
        assert w.shift_at_pointer()
        x.release("Shift_L"); yield
        assert not w.shift_at_pointer()
    """)


def test_a_picture_is_saved_and_a_folder_without_rights_is_said(in_window):
    in_window("""
        import os, glob
        from carom.viewer import png
        x.move(*s.at(320, 250)); x.key("space"); yield
        x.key("s"); yield
        (name,) = glob.glob("carom-*.png")
        assert name in r.message.text
        def refuse(*_):
            raise PermissionError(13, "Permission denied")
        import carom.viewer.window as window
        window.write_png = refuse
        x.key("s"); yield
        assert "cannot be written (Permission denied)" in r.message.text
    """)


def test_the_window_writes_in_both_themes(in_window):
    in_window("""
        x.move(*s.at(320, 250)); x.key("space"); yield
        light = s.pixels()
        x.key("b"); yield
        dark = s.pixels()
        assert light[60:200].mean() > dark[60:200].mean() + 80
        assert (light[-70:-30].max(axis=2) > 200).sum() > 100  # letters and knob on the dark bar
    """)
