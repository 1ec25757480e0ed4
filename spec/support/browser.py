#!/usr/bin/python3
# browser.py - opens a page in headless Chromium and prints what it found as JSON. SPDX-License-Identifier: MIT
#
#   browser.py [--size=WIDTHxHEIGHT] [--dark] [--picture=FILE] [--stop=PID] URL SECONDS [SCRIPT]
#
# With --stop it evaluates SCRIPT twice: after this process got SIGSTOP, and after SIGCONT; "result" has both.
# After SECONDS it evaluates SCRIPT in the page, waiting for its promise, and prints an object: "result" of the script,
# "errors" (what the console had of errors and warnings, exceptions, requests that failed) and "urls" that were asked for.
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --remote-debugging-pipe --hide-scrollbars""".split()


class Browser:
    """Chromium, spoken to over a pair of pipes: texts of JSON that end in a NUL."""

    def __init__(self, directory):
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def take():
            # Descriptors 3 and 4 are what the browser expects; first out of the way of each other.
            os.dup2(to_read, 60)
            os.dup2(from_write, 61)
            os.dup2(60, 3)
            os.dup2(61, 4)

        self.process = subprocess.Popen(["chromium", *FLAGS, "--user-data-dir=" + directory, "about:blank"], close_fds=False,
                                        preexec_fn=take, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def read(self):
        while b"\0" not in self.rest:
            got = os.read(self.back, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, script):
        return self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (EOFError, OSError, RuntimeError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def errors_of(events):
    found, urls = [], []
    for event in events:
        p = event.get("params", {})
        if event["method"] == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            found.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif event["method"] == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            found.append("exception: " + str(d.get("exception", {}).get("description", d["text"])))
        elif event["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            found.append("log: " + p["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            urls.append(p["request"]["url"])
        elif event["method"] == "Network.loadingFailed" and not p.get("canceled"):
            found.append("request: " + p["errorText"])
    return found, urls


def stopped(browser, pid, script):
    os.kill(pid, signal.SIGSTOP)
    try:
        first = browser.evaluate(script)
    finally:
        os.kill(pid, signal.SIGCONT)
    return [r["result"].get("value") for r in (first, browser.evaluate(script))]


def visit(browser, options, url, seconds, script):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(domain + ".enable")
    width, height = map(int, options.get("size", "1280x900").split("x"))
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 640)
    scheme = "dark" if "dark" in options else "light"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=url)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        time.sleep(0.1)
        browser.evaluate("0")
    while "until" in options and time.monotonic() < end + 120:
        if browser.evaluate(options["until"]).get("result", {}).get("value"):
            break
        time.sleep(0.1)
    if "stop" in options:
        return stopped(browser, int(options["stop"]), script)
    result = browser.evaluate(script)
    if "picture" in options:
        size = browser.evaluate("document.documentElement.scrollHeight")["result"]["value"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(size, 5000), "scale": 1}
        picture = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(options["picture"], "wb") as f:
            f.write(base64.b64decode(picture["data"]))
    if "exceptionDetails" in result:
        raise RuntimeError("the script failed: " + json.dumps(result["exceptionDetails"]))
    return result["result"].get("value")


def main():
    options = dict(a[2:].partition("=")[::2] for a in sys.argv[1:] if a.startswith("--"))
    url, seconds, script = ([a for a in sys.argv[1:] if not a.startswith("--")] + ["null"])[:3]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        browser = Browser(directory)
        try:
            result = visit(browser, options, url, seconds, script)
            errors, urls = errors_of(browser.events)
        finally:
            browser.close()
    print(json.dumps({"result": result, "errors": errors, "urls": urls}))


main()
