# SPDX-License-Identifier: Apache-2.0
"""A browser without a window, driven over Chromium's DevTools protocol: a WebSocket on loopback,
whose port the browser chooses and writes into its profile."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time

PATIENCE = 60  # seconds for a start or an answer: a guard against hanging, no measurement


def find():
    """The browser's program; None: there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    def __init__(self, folder):
        self.profile = os.path.join(folder, "profile")
        self.log = open(os.path.join(folder, "browser.log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--remote-debugging-port=0",
             "--user-data-dir=" + self.profile, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.number, self.events, self.buffer = 0, [], b""
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def connect(self):
        port_file = os.path.join(self.profile, "DevToolsActivePort")
        until = time.monotonic() + PATIENCE
        lines = []
        while len(lines) < 2:
            if time.monotonic() > until or self.process.poll() is not None:
                raise OSError("the browser does not start")
            time.sleep(0.02)
            if os.path.exists(port_file):
                with open(port_file, encoding="utf-8") as f:
                    lines = f.read().split("\n")
        self.socket = socket.create_connection(("127.0.0.1", int(lines[0])), PATIENCE)
        self.socket.sendall(("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
                             % (lines[1], base64.b64encode(os.urandom(16)).decode())).encode())
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()

    # ---- WebSocket ----

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise OSError("the browser has gone")
        self.buffer += data

    def take(self, n):
        while len(self.buffer) < n:
            self.receive()
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def frame(self):
        """A whole message."""
        message, last = b"", False
        while not last:
            first, length = self.take(2)
            last, length = bool(first & 0x80), length & 0x7f
            if length == 126:
                length = struct.unpack(">H", self.take(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.take(8))[0]
            message += self.take(length)
        return json.loads(message)

    def send(self, message):
        data = json.dumps(message).encode()
        head = struct.pack(">BBQ", 0x81, 0x80 | 127, len(data)) + b"\0\0\0\0"  # a mask of zeros
        self.socket.sendall(head + data)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.send(message)
        while True:
            answer = self.frame()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise OSError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    # ---- a page ----

    def open(self, path, width, height, dark, media="screen", scripts=True):
        """Loads the file; returns what its console said."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setTouchEmulationEnabled", enabled=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.frame())
        if scripts:
            self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return [json.dumps(e["params"]) for e in self.events
                if e.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]

    def run(self, script):
        """The value of a script in the page."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise ValueError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def shoot(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
