"""Things in the graphics memory: programs, meshes, targets. Import only after `display.load_pyglet`."""

from ctypes import byref, c_char_p, c_void_p, cast, pointer
from typing import Any

import numpy as np
from pyglet import gl
from pyglet.graphics.shader import Shader, ShaderProgram

from .meshes import Mesh


class Program:
    """A shader program whose uniforms are set by name."""

    def __init__(self, vertex: str, fragment: str) -> None:
        self._program = ShaderProgram(Shader(vertex, "vertex"), Shader(fragment, "fragment"))
        self._locations: dict[str, int] = {}

    def use(self) -> None:
        """Draw with this program from now on."""
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
        """Free it."""
        self._program.delete()


class InstancedMesh:
    """A mesh, drawn once for each of its instances."""

    def __init__(self, mesh: Mesh) -> None:
        corners = np.concatenate([mesh.positions, mesh.normals], axis=1)
        vertices, indices = np.unique(corners, axis=0, return_inverse=True)  # shared vertices are shaded once
        indices = np.ascontiguousarray(indices.reshape(-1), dtype=np.uint32)
        self._corners = len(indices)
        self._count = 0
        self._vertex_array = generate(gl.glGenVertexArrays)
        self._vertices, self._instances, self._indices = (generate(gl.glGenBuffers) for _ in range(3))
        gl.glBindVertexArray(self._vertex_array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._vertices)
        upload(vertices, gl.GL_STATIC_DRAW)
        gl.glBindBuffer(gl.GL_ELEMENT_ARRAY_BUFFER, self._indices)
        gl.glBufferData(
            gl.GL_ELEMENT_ARRAY_BUFFER, indices.nbytes, indices.ctypes.data_as(c_void_p), gl.GL_STATIC_DRAW
        )
        describe_attributes((3, 3))
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._instances)
        describe_attributes((4, 4, 4, 4), first=2, divisor=1)
        gl.glBindVertexArray(0)

    def place(self, instances: np.ndarray) -> None:
        """Take (n, 16) float32 instances, see `Stage.instances`."""
        self._count = len(instances)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._instances)
        upload(instances, gl.GL_STREAM_DRAW)

    def draw(self) -> None:
        """Draw all instances with the program in use."""
        if self._count:
            gl.glBindVertexArray(self._vertex_array)
            gl.glDrawElementsInstanced(gl.GL_TRIANGLES, self._corners, gl.GL_UNSIGNED_INT, None, self._count)

    def close(self) -> None:
        """Free it."""
        delete(gl.glDeleteVertexArrays, self._vertex_array)
        delete(gl.glDeleteBuffers, self._vertices, self._instances, self._indices)


class Strips:
    """Triangles given anew for every picture, of vertices with float attributes of the given sizes."""

    def __init__(self, sizes: tuple[int, ...], divisor: int = 0) -> None:
        self._count = 0
        self._array = generate(gl.glGenVertexArrays)
        self._buffer = generate(gl.glGenBuffers)
        gl.glBindVertexArray(self._array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        describe_attributes(sizes, divisor=divisor)
        gl.glBindVertexArray(0)

    def place(self, vertices: np.ndarray) -> None:
        """Take (n, sum of sizes) float32 vertices, or instances where there is a divisor."""
        self._count = len(vertices)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._buffer)
        upload(vertices, gl.GL_STREAM_DRAW)

    def draw(self) -> None:
        """Draw every three vertices as a triangle."""
        if self._count:
            gl.glBindVertexArray(self._array)
            gl.glDrawArrays(gl.GL_TRIANGLES, 0, self._count)

    def draw_quads(self) -> None:
        """Draw every instance as a quad."""
        gl.glBindVertexArray(self._array)
        gl.glDrawArraysInstanced(gl.GL_TRIANGLE_STRIP, 0, 4, self._count)

    def close(self) -> None:
        """Free it."""
        delete(gl.glDeleteVertexArrays, self._array)
        delete(gl.glDeleteBuffers, self._buffer)


class Target:
    """A framebuffer with several samples a pixel and the plain one it is resolved to."""

    def __init__(self, size: tuple[int, int], samples: int) -> None:
        self.size = size
        self.samples = samples
        self._buffers = [generate(gl.glGenRenderbuffers) for _ in range(3)]
        colour, self.depth, resolved_colour = self._buffers
        self.multisampled = generate(gl.glGenFramebuffers)
        self.resolved = generate(gl.glGenFramebuffers)
        self.drawn_samples = min(samples, _most_samples()) if samples > 1 else 0
        several = self.drawn_samples
        self._attach(self.multisampled, colour, gl.GL_COLOR_ATTACHMENT0, gl.GL_RGBA8, several)
        self._attach(self.multisampled, self.depth, gl.GL_DEPTH_ATTACHMENT, gl.GL_DEPTH_COMPONENT24, several)
        self._attach(self.resolved, resolved_colour, gl.GL_COLOR_ATTACHMENT0, gl.GL_RGBA8, 0)

    def resolve(self) -> None:
        """Average the samples into the plain framebuffer and leave that one bound."""
        copy_picture(self.multisampled, self.resolved, self.size, self.size)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.resolved)

    def close(self) -> None:
        """Free it."""
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        delete(gl.glDeleteFramebuffers, self.multisampled, self.resolved)
        delete(gl.glDeleteRenderbuffers, *self._buffers)

    def _attach(self, framebuffer: int, buffer: int, attachment: int, kind: int, samples: int) -> None:
        attach_buffer(framebuffer, buffer, attachment, kind, samples, self.size)


class Counts:
    """A framebuffer that adds up numbers, behind what a target has drawn, and the texture of their sums."""

    def __init__(self, target: Target) -> None:
        self.size = target.size
        self._sums = generate(gl.glGenRenderbuffers)
        self.framebuffer, self._resolved = (generate(gl.glGenFramebuffers) for _ in range(2))
        self.texture = generate(gl.glGenTextures)
        colour, samples = gl.GL_COLOR_ATTACHMENT0, target.drawn_samples
        attach_buffer(self.framebuffer, self._sums, colour, gl.GL_R32F, samples, self.size)
        gl.glFramebufferRenderbuffer(
            gl.GL_FRAMEBUFFER, gl.GL_DEPTH_ATTACHMENT, gl.GL_RENDERBUFFER, target.depth
        )
        gl.glBindTexture(gl.GL_TEXTURE_2D, self.texture)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, gl.GL_R32F, *self.size, 0, gl.GL_RED, gl.GL_FLOAT, None)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._resolved)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, colour, gl.GL_TEXTURE_2D, self.texture, 0)

    def begin(self) -> None:
        """Draw into it from now on, with all sums at zero."""
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.framebuffer)
        gl.glClearBufferfv(gl.GL_COLOR, 0, (gl.GLfloat * 4)())

    def resolve(self) -> None:
        """Average the samples into the texture."""
        copy_picture(self.framebuffer, self._resolved, self.size, self.size)

    def close(self) -> None:
        """Free it."""
        delete(gl.glDeleteFramebuffers, self.framebuffer, self._resolved)
        delete(gl.glDeleteRenderbuffers, self._sums)
        delete(gl.glDeleteTextures, self.texture)


def attach_buffer(
    framebuffer: int, buffer: int, attachment: int, kind: int, samples: int, size: tuple[int, int]
) -> None:
    """Give a renderbuffer its size and kind, attach it to a framebuffer, and leave both bound."""
    gl.glBindRenderbuffer(gl.GL_RENDERBUFFER, buffer)
    gl.glRenderbufferStorageMultisample(gl.GL_RENDERBUFFER, samples, kind, *size)
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
    gl.glFramebufferRenderbuffer(gl.GL_FRAMEBUFFER, attachment, gl.GL_RENDERBUFFER, buffer)


class ShadowMap:
    """A square depth texture of `size` pixels and the framebuffer that draws into it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.texture = generate(gl.glGenTextures)
        gl.glBindTexture(gl.GL_TEXTURE_2D, self.texture)
        gl.glTexImage2D(
            gl.GL_TEXTURE_2D, 0, gl.GL_DEPTH_COMPONENT16, size, size, 0,
            gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT, None,
        )  # fmt: skip
        for setting, value in (
            (gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST),
            (gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST),
            (gl.GL_TEXTURE_WRAP_S, gl.GL_CLAMP_TO_EDGE),
            (gl.GL_TEXTURE_WRAP_T, gl.GL_CLAMP_TO_EDGE),
        ):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, setting, value)
        self.framebuffer = generate(gl.glGenFramebuffers)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.framebuffer)
        gl.glFramebufferTexture2D(
            gl.GL_FRAMEBUFFER, gl.GL_DEPTH_ATTACHMENT, gl.GL_TEXTURE_2D, self.texture, 0
        )
        gl.glDrawBuffer(gl.GL_NONE)
        gl.glReadBuffer(gl.GL_NONE)

    def close(self) -> None:
        """Free it."""
        delete(gl.glDeleteFramebuffers, self.framebuffer)
        delete(gl.glDeleteTextures, self.texture)


def copy_picture(source: int, target: int, size: tuple[int, int], target_size: tuple[int, int]) -> None:
    """Copy the colours of one framebuffer to another, smoothly where it grows."""
    gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, source)
    gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, target)
    smooth = gl.GL_NEAREST if size == target_size else gl.GL_LINEAR
    gl.glBlitFramebuffer(0, 0, *size, 0, 0, *target_size, gl.GL_COLOR_BUFFER_BIT, smooth)


def describe_attributes(sizes: tuple[int, ...], first: int = 0, divisor: int = 0) -> None:
    """Say that the bound buffer holds consecutive float attributes from location `first`."""
    stride, offset = 4 * sum(sizes), 0
    for location, size in enumerate(sizes, start=first):
        gl.glEnableVertexAttribArray(location)
        gl.glVertexAttribPointer(location, size, gl.GL_FLOAT, gl.GL_FALSE, stride, offset)
        gl.glVertexAttribDivisor(location, divisor)
        offset += 4 * size


def upload(array: np.ndarray, usage: int) -> None:
    """Put an array, as float32, into the bound vertex buffer."""
    array = np.ascontiguousarray(array, dtype=np.float32)
    gl.glBufferData(gl.GL_ARRAY_BUFFER, array.nbytes, array.ctypes.data_as(c_void_p), usage)


def generate(function: Any) -> int:
    """One new name from a glGen function."""
    name = gl.GLuint()
    function(1, byref(name))
    return name.value


def delete(function: Any, *names: int) -> None:
    """Give names back to a glDelete function."""
    function(len(names), (gl.GLuint * len(names))(*names))


def _most_samples() -> int:
    most = gl.GLint()
    gl.glGetIntegerv(gl.GL_MAX_SAMPLES, byref(most))
    return most.value
