"""A headless browser for tests, spoken to through its debugging pipe, without any package."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # s


def find_browser():
    """The program of a browser that can be driven here, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One page of a headless Chromium; use it as a context."""

    def __init__(self, profile: Path, size=(1280, 720)):
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--remote-debugging-pipe",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--ignore-gpu-blocklist",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            f"--window-size={size[0]},{size[1]}",
            "about:blank",
        ]
        ends = f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", ends, find_browser(), *options],
            pass_fds=(read_commands, write_answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._unread = b""
        self._number = 0
        self.requests: list[str] = []
        self.errors: list[str] = []
        pages = self._call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in pages if one["type"] == "page")
        self._session = None
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable")
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, address: str, ready: str = "true") -> None:
        """Go to an address and wait until an expression holds there."""
        self._call("Page.navigate", url=address)
        self.wait(f"document.readyState === 'complete' && ({ready})")

    def ask(self, expression: str):
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}; errors: {self.errors}"
            time.sleep(0.05)

    def press(self, key: str, code: str = "") -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=code, **text)

    def drag(self, start, end, button="left") -> None:
        """Press the mouse at a place, move it, and let go."""
        x, y = start
        held = {"button": button, "buttons": {"left": 1, "right": 2}[button], "clickCount": 1}
        self._call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **held)
        for share in (0.25, 0.5, 0.75, 1.0):
            place = {"x": x + share * (end[0] - x), "y": y + share * (end[1] - y)}
            self._call("Input.dispatchMouseEvent", type="mouseMoved", **place, **held)
        self._call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **held)

    def click(self, x, y) -> None:
        """Click a place."""
        self.drag((x, y), (x, y))

    def scroll(self, x, y, amount) -> None:
        """Turn the wheel."""
        self._call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=amount)

    def screenshot(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """End the browser."""
        os.close(self._commands)  # it ends when nobody can command it any more
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _call(self, method: str, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _note(self, happening: dict) -> None:
        details = happening.get("params", {})
        if happening.get("method") == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif happening.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(details["exceptionDetails"]))

    def _receive(self) -> dict:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has ended"
            self._unread += part
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)
