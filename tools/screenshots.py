"""Writes the pictures of the documentation: `make screenshots`.

Starts a node in a folder of its own, filled by `choir demo` where there is that command, and takes pictures of a few
pages in Debian's Chromium: light, 1280 pixels wide. A page that this version does not have is left out, and its picture
stays as it is.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
CHOIR = [sys.executable, "-m", "choir.doors.cli.main"]
SIZE_MAX = 120_000  # bytes of a picture
_ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
# Pixels in at most 256 colours: those that agree in their upper bits become the most frequent one among them.
_REDUCE = """async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const sorted = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  for (const mask of [0xffffffff, 0xfffcfcfc, 0xfff8f8f8, 0xfff0f0f0, 0xffe0e0e0]) {
    const places = new Map();
    const colours = [];
    for (const pixel of sorted) {
      const key = (pixel & mask) >>> 0;
      if (!places.has(key)) { places.set(key, colours.length); colours.push(pixel); }
    }
    if (colours.length > 256) continue;
    return [image.width, colours, [...pixels].map((pixel) => places.get((pixel & mask) >>> 0))];
  }
}"""
# Each picture, and the links of the demo or the paths that may have it.
_PICTURES = {
    "home": ("/",),
    "hall": ("the hall of work", "/hall"),
    "article": ("the cited article",),
    "ledger": ("the citation's payment", "/ledger"),
    "docs": ("/docs",),
}


def main() -> int:
    program = shutil.which("chromium")
    if program is None:
        print("chromium is not installed; run: make browser")
        return 1
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="choir-pictures-") as folder,
        _node(Path(folder)) as (address, links),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page = context.new_page()
        for name, places in _PICTURES.items():
            _take(page, name, address, [links.get(place, place) for place in places])
        browser.close()
    return 0


def _take(page: Page, name: str, address: str, places: list[str]) -> None:
    """A picture of the first of these places that there is."""
    for place in (one for one in places if one.startswith("/")):
        answer = page.goto(address + place)
        if answer is None or answer.status != 200:
            continue
        page.wait_for_load_state("load")
        page.evaluate("() => document.fonts.ready")
        picture = _smaller(page, page.screenshot(animations="disabled"))
        (IMAGES / f"{name}.png").write_bytes(picture)
        print(f"docs/images/{name}.png  {len(picture)} bytes{'  too large' if len(picture) > SIZE_MAX else ''}")
        return
    print(f"docs/images/{name}.png  left out: this version has no such page")


def _smaller(page: Page, picture: bytes) -> bytes:
    """The same picture as a PNG with a palette, which is a third of the size."""
    blank = page.context.new_page()
    width, colours, places = blank.evaluate(_REDUCE, base64.b64encode(picture).decode())
    blank.close()
    rows = bytes(places)
    lines = b"".join(b"\0" + rows[at : at + width] for at in range(0, len(rows), width))
    palette = b"".join(struct.pack("<I", colour)[:3] for colour in colours)
    head = struct.pack(">IIBBBBB", width, len(rows) // width, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )


@contextlib.contextmanager
def _node(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a node, and the pages that the demo names, by what they show."""
    port = _free_port()
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("CHOIR_", "PG"))}
    own = {"CHOIR_HOME": str(folder / "home"), "CHOIR_BIND": f"127.0.0.1:{port}", "HOME": str(folder)}
    demo = subprocess.run([*CHOIR, "demo", "--help"], capture_output=True, env=keep | own, check=False).returncode == 0
    words = ["demo", "--json"] if demo else ["up"]
    process = subprocess.Popen([*CHOIR, *words], env=keep | own, stdout=subprocess.PIPE, text=True)
    try:
        told = _told(process) if demo else _until_up(process)
        links = {what: urlsplit(link).path for what, link in told.get("links", {}).items()}
        yield f"http://localhost:{port}", links
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)


def _told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The one JSON value that the demo prints when its story is over."""
    text = ""
    for line in process.stdout or ():
        text += line
        with contextlib.suppress(json.JSONDecodeError):
            told: dict[str, Any] = json.loads(text)
            return told
    raise SystemExit("The demo ended before it said what it made.")


def _until_up(process: subprocess.Popen[str]) -> dict[str, Any]:
    for line in process.stdout or ():
        if line.startswith("Stop it"):
            return {}
    raise SystemExit("The node did not start.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
