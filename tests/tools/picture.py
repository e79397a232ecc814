# SPDX-License-Identifier: MIT
"""Draws a screen with its colors as SVG: the README's picture, which tests/hosts/run keeps current."""
import html
import re

WIDTH, HEIGHT, MARGIN = 8.4, 19, 16
STYLES = {"1": "font-weight:bold", "2": "opacity:.65", "31": "fill:#ff7b72", "32": "fill:#7ee787",
          "33": "fill:#e3b341", "35": "fill:#d2a8ff"}


def runs(line):
    """The line's parts with the numbers of their style; each line begins without one."""
    style = []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            numbers = part[2:-1].split(";")
            style = [] if numbers in ([""], ["0"]) else [*style, *numbers]
        elif part:
            yield part, style


def draw(title, screen):
    """An SVG of the screen, a text with the colors of a terminal; the title is for those who do not see it."""
    lines = screen.rstrip("\n").split("\n")
    columns = max(sum(len(part) for part, _ in runs(line)) for line in lines)
    width, height = round(columns * WIDTH + 2 * MARGIN), len(lines) * HEIGHT + 2 * MARGIN
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
             f"<title>{html.escape(' '.join(title.split()), quote=False)}</title>",
             "<!-- Made by tests/tools/picture.py: make hosts -->",
             "<style>text { font: 14px monospace; fill: #e6edf3 }</style>",
             f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>']
    for row, line in enumerate(lines):
        column = 0
        for part, style in runs(line):
            styles = ";".join(STYLES[number] for number in style)
            # What is apart is a text of its own, and its length is given, so that columns stay in their places.
            for text in re.finditer(r"\S+(?: \S+)*", part):
                drawn.append(f'<text x="{MARGIN + (column + text.start()) * WIDTH:.1f}" '
                             f'y="{MARGIN + row * HEIGHT + 14}" textLength="{len(text[0]) * WIDTH:.1f}"'
                             f"{f' style={styles!r}' if styles else ''}>{html.escape(text[0], quote=False)}</text>")
            column += len(part)
    return "\n".join([*drawn, "</svg>", ""])
