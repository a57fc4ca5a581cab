"""Draws a stage with OpenGL 3.3 core into a picture of its own. Import only after `display.load_pyglet`."""

from ctypes import byref, c_char_p, c_void_p, cast, pointer
from typing import Any

import numpy as np
from pyglet import gl
from pyglet.graphics.shader import Shader, ShaderProgram

from . import shaders
from .camera import OrbitCamera, perpendiculars
from .meshes import Mesh
from .stage import Plane, Stage

SHADOW_SIZE = 2048  # pixels
SAMPLES = 4


class Renderer:
    """Draws one stage into a framebuffer of `size` (width, height) pixels of the current context."""

    def __init__(self, stage: Stage, size: tuple[int, int]) -> None:
        self.stage = stage
        self._body = _Program(shaders.BODY_VERTEX, shaders.BODY_FRAGMENT)
        self._shadow = _Program(shaders.BODY_VERTEX, shaders.SHADOW_FRAGMENT)
        self._floor = _Program(shaders.FLOOR_VERTEX, shaders.FLOOR_FRAGMENT)
        self._sky = _Program(shaders.SKY_VERTEX, shaders.SKY_FRAGMENT)
        self._meshes = [_InstancedMesh(part.mesh) for part in stage.parts]
        self._arrows = _InstancedMesh(stage.arrow_mesh())
        self._no_vertices = _generate(gl.glGenVertexArrays)
        self._shadow_texture, self._shadow_framebuffer = _shadow_target()
        self._target = _Target(size)
        east, north = perpendiculars(stage.up)
        light = 0.90 * stage.up - 0.22 * east - 0.48 * north
        self._light = light / np.linalg.norm(light)
        self._light_matrix = self._matrix_of_light()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._target.size

    @property
    def framebuffer(self) -> int:
        """The OpenGL name of the finished picture's framebuffer."""
        return self._target.resolved

    def resize(self, size: tuple[int, int]) -> None:
        """Take another size in pixels."""
        if size != self._target.size:
            self._target.close()
            self._target = _Target(size)

    def draw(self, camera: OrbitCamera, time: float, *, linger: float = 0.0) -> None:
        """Draw the stage at a time; impulses of the last `linger` seconds are shown as arrows."""
        width, height = self._target.size
        for mesh, instances in zip(self._meshes, self.stage.instances(time), strict=True):
            mesh.place(instances)
        self._arrows.place(self.stage.arrows(time, linger))
        self._draw_shadow_map()
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._target.multisampled)
        gl.glViewport(0, 0, width, height)
        gl.glDisable(gl.GL_SCISSOR_TEST)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glDepthMask(gl.GL_TRUE)
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT | gl.GL_COLOR_BUFFER_BIT)
        view_projection = self._view_projection(camera, width / height)
        self._draw_sky(camera, width / height)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(gl.GL_LEQUAL)
        gl.glBlendFunc(gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA)
        gl.glActiveTexture(gl.GL_TEXTURE0)
        gl.glBindTexture(gl.GL_TEXTURE_2D, self._shadow_texture)
        gl.glEnable(gl.GL_BLEND)
        self._use_shading(self._floor, camera, view_projection)
        for plane in self.stage.planes:
            self._draw_floor(plane, camera)
        gl.glDisable(gl.GL_BLEND)
        self._use_shading(self._body, camera, view_projection)
        self._body.set("opacity", 1.0)
        for mesh in self._meshes:
            mesh.draw()
        self._arrows.draw()
        gl.glEnable(gl.GL_BLEND)  # once more through the bodies, so that no arrow is hidden
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glEnable(gl.GL_CULL_FACE)
        self._body.set("opacity", 0.45)
        self._arrows.draw()
        gl.glDisable(gl.GL_CULL_FACE)
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
        self._target.close()
        for mesh in (*self._meshes, self._arrows):
            mesh.close()
        gl.glDeleteVertexArrays(1, byref(gl.GLuint(self._no_vertices)))
        gl.glDeleteFramebuffers(1, byref(gl.GLuint(self._shadow_framebuffer)))
        gl.glDeleteTextures(1, byref(gl.GLuint(self._shadow_texture)))
        for program in (self._body, self._shadow, self._floor, self._sky):
            program.close()

    def _view_projection(self, camera: OrbitCamera, aspect: float) -> np.ndarray:
        reach = camera.distance + self.stage.scale
        projection = camera.projection(aspect, 0.01 * camera.distance, 80 * reach)
        world_from_stage = np.linalg.inv(self.stage.stage_from_world())
        return projection @ camera.view() @ world_from_stage

    def _matrix_of_light(self) -> np.ndarray:
        """From stage coordinates to the shadow map, which holds a ball about the middle of the motion."""
        reach = 1.02 * self.stage.shadow_reach
        first, second = perpendiculars(self._light)
        matrix = np.eye(4)
        matrix[0, :3], matrix[1, :3], matrix[2, :3] = (
            first / reach,
            second / reach,
            -self._light / (2 * reach),
        )
        return matrix

    def _draw_shadow_map(self) -> None:
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._shadow_framebuffer)
        gl.glViewport(0, 0, SHADOW_SIZE, SHADOW_SIZE)
        gl.glDisable(gl.GL_SCISSOR_TEST)
        gl.glDisable(gl.GL_BLEND)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(gl.GL_LEQUAL)
        gl.glDepthMask(gl.GL_TRUE)
        gl.glEnable(gl.GL_DEPTH_CLAMP)
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
        self._shadow.use()
        self._shadow.set("view_projection", self._light_matrix)
        for mesh in self._meshes:
            mesh.draw()
        gl.glDisable(gl.GL_DEPTH_CLAMP)

    def _draw_sky(self, camera: OrbitCamera, aspect: float) -> None:
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_BLEND)
        middle, right, above = camera.rays(aspect, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        self._sky.use()
        self._sky.set("up", self.stage.up)
        self._sky.set("ray_origin", middle)
        self._sky.set("ray_right", right - middle)
        self._sky.set("ray_above", above - middle)
        gl.glBindVertexArray(self._no_vertices)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    def _draw_floor(self, plane: Plane, camera: OrbitCamera) -> None:
        """Draw a plane seen from its front; from behind it would hide the bodies."""
        stage = self.stage
        if plane.normal @ camera.eye <= plane.offset:
            return
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

    def _use_shading(self, program: "_Program", camera: OrbitCamera, view_projection: np.ndarray) -> None:
        stage = self.stage
        program.use()
        program.set("view_projection", view_projection)
        program.set("light", self._light)
        program.set("up", stage.up)
        program.set("eye", (camera.eye - stage.centre) / stage.scale)
        program.set("light_matrix", self._light_matrix)
        program.set("shadow_map", 0)
        program.set("shadow_texel", 2 * 1.02 * stage.shadow_reach / SHADOW_SIZE)


class _Program:
    """A shader program whose uniforms are set by name."""

    def __init__(self, vertex: str, fragment: str) -> None:
        self._program = ShaderProgram(Shader(vertex, "vertex"), Shader(fragment, "fragment"))
        self._locations: dict[str, int] = {}

    def use(self) -> None:
        gl.glUseProgram(self._program.id)

    def set(self, name: str, value: Any) -> None:
        """Set a uniform of the program in use: an int, a float, 2 or 3 floats, or a (4, 4) matrix."""
        if name not in self._locations:
            text = cast(c_char_p(name.encode()), type(pointer(gl.GLchar())))
            self._locations[name] = gl.glGetUniformLocation(self._program.id, text)
        location = self._locations[name]
        if isinstance(value, int):
            gl.glUniform1i(location, value)
            return
        numbers = np.asarray(value, dtype=float)
        values = (gl.GLfloat * numbers.size)(*numbers.reshape(-1))
        if numbers.shape == (4, 4):
            gl.glUniformMatrix4fv(location, 1, gl.GL_TRUE, values)
        else:
            setter = {1: gl.glUniform1fv, 2: gl.glUniform2fv, 3: gl.glUniform3fv}[numbers.size]
            setter(location, 1, values)

    def close(self) -> None:
        self._program.delete()


class _InstancedMesh:
    """A mesh in the graphics memory, drawn once for each of its instances."""

    def __init__(self, mesh: Mesh) -> None:
        self._vertex_array = _generate(gl.glGenVertexArrays)
        self._vertices = _generate(gl.glGenBuffers)
        self._instances = _generate(gl.glGenBuffers)
        self._indices = _generate(gl.glGenBuffers)
        corners = np.concatenate([mesh.positions, mesh.normals], axis=1)
        vertices, indices = np.unique(corners, axis=0, return_inverse=True)  # shared vertices are shaded once
        indices = np.ascontiguousarray(indices.reshape(-1), dtype=np.uint32)
        self._corners = len(indices)
        self._count = 0
        gl.glBindVertexArray(self._vertex_array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._vertices)
        _upload(vertices, gl.GL_STATIC_DRAW)
        gl.glBindBuffer(gl.GL_ELEMENT_ARRAY_BUFFER, self._indices)
        gl.glBufferData(
            gl.GL_ELEMENT_ARRAY_BUFFER, indices.nbytes, indices.ctypes.data_as(c_void_p), gl.GL_STATIC_DRAW
        )
        for location in (0, 1):
            gl.glEnableVertexAttribArray(location)
            gl.glVertexAttribPointer(location, 3, gl.GL_FLOAT, gl.GL_FALSE, 24, 12 * location)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._instances)
        for number in range(4):
            gl.glEnableVertexAttribArray(2 + number)
            gl.glVertexAttribPointer(2 + number, 4, gl.GL_FLOAT, gl.GL_FALSE, 64, 16 * number)
            gl.glVertexAttribDivisor(2 + number, 1)
        gl.glBindVertexArray(0)

    def place(self, instances: np.ndarray) -> None:
        """Take (n, 16) float32 instances, see `Stage.instances`."""
        self._count = len(instances)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._instances)
        _upload(instances, gl.GL_DYNAMIC_DRAW)

    def draw(self) -> None:
        if self._count:
            gl.glBindVertexArray(self._vertex_array)
            gl.glDrawElementsInstanced(gl.GL_TRIANGLES, self._corners, gl.GL_UNSIGNED_INT, None, self._count)

    def close(self) -> None:
        gl.glDeleteVertexArrays(1, byref(gl.GLuint(self._vertex_array)))
        gl.glDeleteBuffers(3, (gl.GLuint * 3)(self._vertices, self._instances, self._indices))


class _Target:
    """A framebuffer with several samples a pixel and the plain one it is resolved to."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        most_samples = gl.GLint()
        gl.glGetIntegerv(gl.GL_MAX_SAMPLES, byref(most_samples))
        samples = min(SAMPLES, most_samples.value)
        self._buffers = [_generate(gl.glGenRenderbuffers) for _ in range(3)]
        colour, depth, resolved_colour = self._buffers
        self.multisampled = _generate(gl.glGenFramebuffers)
        self.resolved = _generate(gl.glGenFramebuffers)
        self._attach(self.multisampled, colour, gl.GL_COLOR_ATTACHMENT0, gl.GL_RGBA8, samples)
        self._attach(self.multisampled, depth, gl.GL_DEPTH_ATTACHMENT, gl.GL_DEPTH_COMPONENT24, samples)
        self._attach(self.resolved, resolved_colour, gl.GL_COLOR_ATTACHMENT0, gl.GL_RGBA8, 0)

    def resolve(self) -> None:
        """Average the samples into the plain framebuffer and leave that one bound."""
        width, height = self.size
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self.multisampled)
        gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, self.resolved)
        whole = (0, 0, width, height)
        gl.glBlitFramebuffer(*whole, *whole, gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.resolved)

    def close(self) -> None:
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        gl.glDeleteFramebuffers(2, (gl.GLuint * 2)(self.multisampled, self.resolved))
        gl.glDeleteRenderbuffers(3, (gl.GLuint * 3)(*self._buffers))

    def _attach(self, framebuffer: int, buffer: int, attachment: int, kind: int, samples: int) -> None:
        gl.glBindRenderbuffer(gl.GL_RENDERBUFFER, buffer)
        gl.glRenderbufferStorageMultisample(gl.GL_RENDERBUFFER, samples, kind, *self.size)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
        gl.glFramebufferRenderbuffer(gl.GL_FRAMEBUFFER, attachment, gl.GL_RENDERBUFFER, buffer)


def _shadow_target() -> tuple[int, int]:
    """A depth texture and the framebuffer that draws into it."""
    texture = _generate(gl.glGenTextures)
    gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
    gl.glTexImage2D(
        gl.GL_TEXTURE_2D, 0, gl.GL_DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE, 0,
        gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT, None,
    )  # fmt: skip
    for setting, value in (
        (gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST),
        (gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST),
        (gl.GL_TEXTURE_WRAP_S, gl.GL_CLAMP_TO_EDGE),
        (gl.GL_TEXTURE_WRAP_T, gl.GL_CLAMP_TO_EDGE),
    ):
        gl.glTexParameteri(gl.GL_TEXTURE_2D, setting, value)
    framebuffer = _generate(gl.glGenFramebuffers)
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
    gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, gl.GL_DEPTH_ATTACHMENT, gl.GL_TEXTURE_2D, texture, 0)
    gl.glDrawBuffer(gl.GL_NONE)
    gl.glReadBuffer(gl.GL_NONE)
    return texture, framebuffer


def _generate(function: Any) -> int:
    name = gl.GLuint()
    function(1, byref(name))
    return name.value


def _upload(array: np.ndarray, usage: int) -> None:
    """Fill the bound array buffer with float32 numbers."""
    array = np.ascontiguousarray(array, dtype=np.float32)
    gl.glBufferData(gl.GL_ARRAY_BUFFER, array.nbytes, array.ctypes.data_as(c_void_p), usage)
