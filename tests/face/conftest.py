"""Where commands are tried."""

import pytest

from carom.viewer import DisplayError


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty current folder, no display, and no pictures, which have tests of their own."""

    def no_picture(*_, **__):
        raise DisplayError("OpenGL is not there.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("carom.viewer.render_strip", no_picture)
    return tmp_path
