"""Draws pictures with OpenGL 3.3 core. Import only after `display.load_pyglet`."""

from collections.abc import Sequence
from ctypes import c_void_p
from dataclasses import dataclass, replace

import numpy as np
from pyglet import gl

from . import shaders
from .camera import OrbitCamera, perpendiculars
from .contact_view import ContactView
from .gl_objects import Counts, InstancedMesh, Program, ShadowMap, Strips, Target, delete, generate
from .meshes import Mesh
from .picture import Picture, Solid, body_solids, impulse_marks
from .run import Run
from .stage import Plane, Stage
from .theme import LIGHT, Theme


@dataclass(frozen=True)
class Quality:
    """How carefully a picture is drawn.

    samples : of each pixel
    shadow_size : [pixels] of the shadow map's side, 0 for no shadows
    resolution : share of the picture's pixels along each side that are really drawn
    """

    samples: int = 4
    shadow_size: int = 1536
    resolution: float = 1.0


FULL = Quality()
DRAFT = Quality(samples=1, shadow_size=0, resolution=0.75)
COARSE = Quality(samples=1, shadow_size=0, resolution=0.5)
TRAIL_WIDTH = 1.6  # half of it, in pixels of a picture 720 pixels high


class Renderer:
    """Draws pictures into a framebuffer of `size` (width, height) pixels of the current context."""

    def __init__(self, stage: Stage, size: tuple[int, int], quality: Quality = FULL) -> None:
        self.stage = stage
        self.theme: Theme = LIGHT
        self._quality = quality
        self._size = size
        self._body = Program(shaders.BODY_VERTEX, shaders.BODY_FRAGMENT)
        self._shadow = Program(shaders.BODY_VERTEX, shaders.SHADOW_FRAGMENT)
        self._floor = Program(shaders.FLOOR_VERTEX, shaders.FLOOR_FRAGMENT)
        self._sky = Program(shaders.SKY_VERTEX, shaders.SKY_FRAGMENT)
        self._ribbon = Program(shaders.RIBBON_VERTEX, shaders.RIBBON_FRAGMENT)
        self._ball = Program(shaders.BALL_VERTEX, shaders.BALL_FRAGMENT)
        self._ball_shadow = Program(shaders.BALL_VERTEX, shaders.BALL_SHADOW_FRAGMENT)
        self._count = Program(shaders.BODY_VERTEX, shaders.COUNT_FRAGMENT)
        self._ball_count = Program(shaders.BALL_VERTEX, shaders.BALL_COUNT_FRAGMENT)
        self._density = Program(shaders.DENSITY_VERTEX, shaders.DENSITY_FRAGMENT)
        self._counts: Counts | None = None
        self._ribbons = Strips((3, 3, 1, 4))
        self._balls = Strips((4, 4, 4, 4), divisor=1)
        self._meshes: dict[int, tuple[Mesh, InstancedMesh]] = {}
        self._no_vertices = generate(gl.glGenVertexArrays)
        self._shadow_maps: dict[int, ShadowMap] = {}
        self._target = Target(self._drawn_size(), quality.samples)
        self._run: Run | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels of the picture, where it is shown."""
        return self._size

    @property
    def drawn_size(self) -> tuple[int, int]:
        """Width and height in pixels of the picture as it is drawn: fewer at a lower resolution."""
        return self._target.size

    @property
    def framebuffer(self) -> int:
        """The OpenGL name of the finished picture's framebuffer."""
        return self._target.resolved

    def resize(self, size: tuple[int, int], quality: Quality | None = None) -> None:
        """Take another size in pixels, or another quality."""
        self._size, self._quality = size, quality or self._quality
        if (self._drawn_size(), self._quality.samples) != (self._target.size, self._target.samples):
            self._close_counts()
            self._target.close()
            self._target = Target(self._drawn_size(), self._quality.samples)

    def draw(self, camera: OrbitCamera, time: float, *, linger: float = 0.0) -> None:
        """Draw the stage at a time; impulses of the last `linger` seconds are shown as arrows."""
        if self._run is None:
            self._run = Run(self.stage.trajectory, "", stage=self.stage)
        self.draw_pictures(camera, [plain_picture(self._run, time, linger)])

    def draw_pictures(self, camera: OrbitCamera, pictures: Sequence[Picture]) -> None:
        """Draw pictures beside each other, all from one camera."""
        width, height = self._target.size
        edges = [round(width * number / len(pictures)) for number in range(len(pictures) + 1)]
        for picture, left, right in zip(pictures, edges[:-1], edges[1:], strict=True):
            self._draw_picture(camera, picture, (left, 0, right - left, height))
        gl.glDisable(gl.GL_SCISSOR_TEST)
        self._target.resolve()

    def read(self) -> np.ndarray:
        """The finished picture as (height, width, 3) uint8, first row on top."""
        width, height = self._target.size
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._target.resolved)
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glReadPixels(0, 0, width, height, gl.GL_RGB, gl.GL_UNSIGNED_BYTE, pixels.ctypes.data_as(c_void_p))
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Free what was made in the context."""
        self._close_counts()
        self._target.close()
        for _, mesh in self._meshes.values():
            mesh.close()
        for shadow_map in self._shadow_maps.values():
            shadow_map.close()
        self._ribbons.close()
        self._balls.close()
        delete(gl.glDeleteVertexArrays, self._no_vertices)
        for program in (
            self._body, self._shadow, self._floor, self._sky, self._ribbon, self._ball, self._ball_shadow,
            self._count, self._ball_count, self._density,
        ):  # fmt: skip
            program.close()

    # -- one picture -----------------------------------------------------------------------------------------

    def _draw_picture(self, camera: OrbitCamera, picture: Picture, part: tuple[int, int, int, int]) -> None:
        view = _View(camera, picture.stage, part[2] / part[3], part[2:])
        shadow_map = self._draw_shadow_map(picture, view) if self._quality.shadow_size else None
        view.shadow_strength = picture.shadow_strength if shadow_map else 0.0
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._target.multisampled)
        gl.glViewport(*part)
        gl.glScissor(*part)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glDepthMask(gl.GL_TRUE)
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT | gl.GL_COLOR_BUFFER_BIT)
        self._draw_sky(view)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(gl.GL_LEQUAL)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)
        gl.glActiveTexture(gl.GL_TEXTURE0)
        gl.glBindTexture(gl.GL_TEXTURE_2D, shadow_map.texture if shadow_map else 0)
        self._draw_planes(view, shadow_map)
        for program in (self._ball, self._body):
            self._use_shading(program, view, shadow_map)
        self._draw_opaque(picture)
        self._draw_ribbons(view, picture)
        if picture.counted:
            self._draw_density(view, picture, part)
        for program in (self._ball, self._body):  # what shines through takes no shadow, which is faster
            program.use()
            program.set("shadow_strength", 0.0)
        self._draw_translucent(view, [solid for solid in picture.solids if solid.opacity < 1])
        self._draw_translucent(view, picture.glass)
        gl.glDisable(gl.GL_DEPTH_TEST)
        self._draw_translucent(view, [replace(solid, opacity=0.4 * solid.opacity) for solid in picture.glass])
        gl.glEnable(gl.GL_DEPTH_TEST)
        self._draw_marks(picture)

    def _draw_opaque(self, picture: Picture) -> None:
        gl.glDisable(gl.GL_BLEND)
        for solid in picture.solids:
            if solid.opacity >= 1:
                gl.glFrontFace(gl.GL_CW if solid.outline else gl.GL_CCW)
                (gl.glEnable if solid.outline else gl.glDisable)(gl.GL_CULL_FACE)
                self._draw_solid(solid)
        gl.glFrontFace(gl.GL_CCW)
        gl.glDisable(gl.GL_CULL_FACE)

    def _draw_translucent(self, view: "_View", solids: Sequence[Solid]) -> None:
        """Fronts only, the farthest first, without hiding each other."""
        gl.glEnable(gl.GL_BLEND)
        gl.glDepthMask(gl.GL_FALSE)
        for solid in solids:
            (gl.glDisable if solid.open_sided else gl.glEnable)(gl.GL_CULL_FACE)
            depth = solid.instances[:, [3, 7, 11]] @ view.forward
            self._draw_solid(solid, solid.instances[np.argsort(-depth)])
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glDepthMask(gl.GL_TRUE)

    def _draw_marks(self, picture: Picture) -> None:
        """Marks as they are, then once more through the bodies, so that none is hidden."""
        gl.glDisable(gl.GL_BLEND)
        for solid in picture.marks:
            if solid.opacity >= 1:
                self._draw_solid(solid)
        gl.glEnable(gl.GL_BLEND)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glEnable(gl.GL_CULL_FACE)
        for solid in picture.marks:
            self._draw_solid(solid, opacity=min(solid.opacity, 0.45))
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glEnable(gl.GL_DEPTH_TEST)

    def _draw_solid(
        self, solid: Solid, instances: np.ndarray | None = None, opacity: float | None = None
    ) -> None:
        as_balls = _as_balls(solid)
        program = self._ball if as_balls else self._body
        program.use()
        program.set("opacity", solid.opacity if opacity is None else opacity)
        program.set("gloss", 0.0 if solid.outline else 0.28)
        if as_balls and solid.opacity >= 1:
            gl.glEnable(gl.GL_SAMPLE_ALPHA_TO_COVERAGE)  # smooth edges
        self._draw_instances(solid, solid.instances if instances is None else instances)
        gl.glDisable(gl.GL_SAMPLE_ALPHA_TO_COVERAGE)

    def _draw_instances(self, solid: Solid, instances: np.ndarray) -> None:
        if _as_balls(solid):
            self._balls.place(instances)
            self._balls.draw_quads()
        else:
            mesh = self._mesh(solid.mesh)
            mesh.place(instances)
            mesh.draw()

    def _draw_density(self, view: "_View", picture: Picture, part: tuple[int, int, int, int]) -> None:
        """How many of the counted bodies cover each pixel, as colours over what is drawn so far."""
        if self._counts is None:
            self._counts = Counts(self._target)
        self._counts.begin()
        gl.glViewport(*part)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE)
        gl.glDepthMask(gl.GL_FALSE)
        gl.glEnable(gl.GL_CULL_FACE)
        for solid in picture.counted:
            program = self._ball_count if _as_balls(solid) else self._count
            program.use()
            self._use_eye(program, view)
            self._draw_instances(solid, solid.instances)
        gl.glDisable(gl.GL_CULL_FACE)
        self._counts.resolve()
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._target.multisampled)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glActiveTexture(gl.GL_TEXTURE0)
        gl.glBindTexture(gl.GL_TEXTURE_2D, self._counts.texture)
        self._density.use()
        self._density.set("counts", 0)
        self._density.set("most", float(picture.outcomes))
        gl.glBindVertexArray(self._no_vertices)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthMask(gl.GL_TRUE)

    def _close_counts(self) -> None:
        if self._counts is not None:
            self._counts.close()
            self._counts = None

    def _mesh(self, mesh: Mesh) -> InstancedMesh:
        if id(mesh) not in self._meshes:
            self._meshes[id(mesh)] = (
                mesh,
                InstancedMesh(mesh),
            )  # the mesh is kept, so that its id stays its own
        return self._meshes[id(mesh)][1]

    def _draw_ribbons(self, view: "_View", picture: Picture) -> None:
        if not picture.ribbons:
            return
        gl.glEnable(gl.GL_BLEND)
        gl.glDepthMask(gl.GL_FALSE)
        self._ribbon.use()
        self._ribbon.set("view_projection", view.matrix)
        self._ribbon.set("pixels", view.pixels)
        self._ribbon.set("half_width", max(TRAIL_WIDTH * self._target.size[1] / 720, 0.8))
        self._ribbons.place(np.concatenate(picture.ribbons))
        self._ribbons.draw()
        gl.glDepthMask(gl.GL_TRUE)

    def _draw_shadow_map(self, picture: Picture, view: "_View") -> ShadowMap:
        size = self._quality.shadow_size
        if size not in self._shadow_maps:
            self._shadow_maps[size] = ShadowMap(size)
        shadow_map = self._shadow_maps[size]
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, shadow_map.framebuffer)
        gl.glViewport(0, 0, size, size)
        gl.glDisable(gl.GL_SCISSOR_TEST)
        gl.glDisable(gl.GL_BLEND)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(gl.GL_LEQUAL)
        gl.glDepthMask(gl.GL_TRUE)
        gl.glEnable(gl.GL_DEPTH_CLAMP)
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
        for solid in picture.solids:
            if solid.shadow:
                program = self._ball_shadow if _as_balls(solid) else self._shadow
                program.use()
                program.set("view_projection", view.light_matrix)
                if program is self._ball_shadow:
                    program.set("forward", -view.light)
                    program.set("orthographic", 1.0)
                    program.set("eye", 4.0 * view.light_reach * view.light)
                self._draw_instances(solid, solid.instances)
        gl.glDisable(gl.GL_DEPTH_CLAMP)
        return shadow_map

    def _draw_sky(self, view: "_View") -> None:
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_BLEND)
        spots = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        middle, right, above = view.camera.rays(view.aspect, spots)
        self._sky.use()
        self._sky.set("up", view.stage.up)
        self._sky.set("ray_origin", middle)
        self._sky.set("ray_right", right - middle)
        self._sky.set("ray_above", above - middle)
        for name in ("sky", "horizon", "ground"):
            self._sky.set(name, getattr(self.theme, name))
        gl.glBindVertexArray(self._no_vertices)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    def _draw_planes(self, view: "_View", shadow_map: ShadowMap | None) -> None:
        gl.glEnable(gl.GL_BLEND)
        self._use_shading(self._floor, view, shadow_map)
        self._floor.set("dark_tile", self.theme.dark_tile)
        self._floor.set("light_tile", self.theme.light_tile)
        for plane in view.stage.planes:
            if view.shows_front_of(plane):
                self._draw_plane(plane, view)

    def _draw_plane(self, plane: Plane, view: "_View") -> None:
        stage, camera = view.stage, view.camera
        first, second = perpendiculars(plane.normal)
        target = camera.target - plane.normal * (plane.normal @ camera.target - plane.offset)
        fade_distance = 8 * max(camera.distance / stage.scale, 1.0)
        origin = [float(stage.centre @ axis) / stage.tile % 2 for axis in (first, second)]
        self._floor.set("first_axis", first)
        self._floor.set("second_axis", second)
        self._floor.set("plane_normal", plane.normal)
        self._floor.set("middle", (target - stage.centre) / stage.scale)
        self._floor.set("reach", 2.6 * fade_distance)
        self._floor.set("fade_distance", fade_distance)
        self._floor.set("tile_origin", origin)
        self._floor.set("tiles_per_unit", stage.scale / stage.tile)
        gl.glBindVertexArray(self._no_vertices)
        gl.glDrawArrays(gl.GL_TRIANGLE_STRIP, 0, 4)

    def _use_shading(self, program: Program, view: "_View", shadow_map: ShadowMap | None) -> None:
        program.use()
        self._use_eye(program, view)
        program.set("light", view.light)
        program.set("up", view.stage.up)
        program.set("light_matrix", view.light_matrix)
        program.set("shadow_map", 0)
        program.set("shadow_texel", 2 * view.light_reach / (shadow_map.size if shadow_map else 1))
        program.set("shadow_strength", view.shadow_strength)
        for name in ("ambient_below", "ambient_above", "sun"):
            program.set(name, getattr(self.theme, name))

    def _use_eye(self, program: Program, view: "_View") -> None:
        """Tell the program in use from where is seen."""
        program.set("view_projection", view.matrix)
        program.set("eye", view.stage.to_stage(view.camera.eye))
        program.set("forward", view.forward)
        program.set("orthographic", 1.0 if view.camera.orthographic else 0.0)

    def _drawn_size(self) -> tuple[int, int]:
        width, height = self._size
        share = self._quality.resolution
        return max(round(width * share), 1), max(round(height * share), 1)


class _View:
    """From where a stage is seen and lit."""

    def __init__(self, camera: OrbitCamera, stage: Stage, aspect: float, pixels: tuple[int, int]) -> None:
        self.camera, self.stage, self.aspect, self.pixels = camera, stage, aspect, pixels
        self.shadow_strength = 1.0
        self.forward = -camera.axes()[2]
        reach = camera.distance + stage.scale
        projection = camera.projection(aspect, 0.01 * camera.distance, 80 * reach)
        self.matrix = projection @ camera.view() @ np.linalg.inv(stage.stage_from_world())
        east, north = perpendiculars(stage.up)
        light = 0.90 * stage.up - 0.22 * east - 0.48 * north
        self.light = light / np.linalg.norm(light)
        self.light_reach = 1.02 * stage.shadow_reach
        self.light_matrix = self._matrix_of_light()

    def shows_front_of(self, plane: Plane) -> bool:
        """Whether a plane is seen from its front; from behind it would hide the bodies."""
        if self.camera.orthographic:
            return bool(plane.normal @ self.forward < -1e-3)
        return bool(plane.normal @ self.camera.eye > plane.offset)

    def _matrix_of_light(self) -> np.ndarray:
        """From stage coordinates to the shadow map, which holds a ball about the middle of the motion."""
        reach = self.light_reach
        first, second = perpendiculars(self.light)
        matrix = np.eye(4)
        matrix[0, :3], matrix[1, :3], matrix[2, :3] = first / reach, second / reach, -self.light / (2 * reach)
        return matrix


def _as_balls(solid: Solid) -> bool:
    """Whether this is drawn as squares on which balls are computed: exact, and faster than meshes of them."""
    return solid.mesh.is_sphere and not solid.outline


def plain_picture(run: Run, time: float, linger: float = 0.0) -> Picture:
    """The bodies of a run at a time [s] and the impulses of the last `linger` seconds."""
    picture = Picture(run.stage, body_solids(run, run.state(time)))
    low = int(np.searchsorted(run.event_times, time - linger, side="left"))
    high = int(np.searchsorted(run.event_times, time, side="right"))
    for number in range(low, high):
        event = run.events[number]
        contacts = ContactView.of_event(event) if event.outcome is not None else None
        if contacts is not None:
            picture.marks.append(impulse_marks(run.stage, contacts, run.stage.strongest))
    return picture
