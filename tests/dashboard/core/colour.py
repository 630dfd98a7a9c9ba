"""Colours: contrast by WCAG, perceptual distance, and simulated colour blindness."""

from __future__ import annotations

import re
from itertools import starmap
from math import dist
from pathlib import Path

Colour = tuple[float, float, float]  # linear red, green, blue, 0 to 1

# Machado, Oliveira, Fernandes 2009: what remains of linear RGB at full severity.
VISIONS: dict[str, tuple[Colour, Colour, Colour]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def read_colour_tokens(path: Path, scheme: str) -> dict[str, Colour]:
    """Every custom property of the file with a plain colour, in one colour scheme."""
    place = {"light": 0, "dark": 1}[scheme]
    values: dict[str, Colour] = {}
    for name, value in re.findall(r"--([\w-]+):\s*([^;]+);", path.read_text()):
        colours = re.findall(r"#[0-9a-f]{6}\b", value)
        if colours and "rgb(" not in value:
            values[name] = _linear(colours[place] if len(colours) > 1 else colours[0])
    return values


def contrast(first: Colour, second: Colour) -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def distance(first: Colour, second: Colour, vision: str) -> float:
    """Euclidean in OKLab, where 0.02 is just noticeable and 1 is black against white."""
    return dist(_oklab(simulate_vision(first, vision)), _oklab(simulate_vision(second, vision)))


def simulate_vision(colour: Colour, vision: str) -> Colour:
    rows = VISIONS[vision]
    red, green, blue = (min(1.0, max(0.0, _dot(row, colour))) for row in rows)
    return red, green, blue


def _dot(row: Colour, colour: Colour) -> float:
    return sum(starmap(float.__mul__, zip(map(float, row), colour, strict=True)))


def _linear(text: str) -> Colour:
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear_part(red), _linear_part(green), _linear_part(blue)


def _linear_part(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _luminance(colour: Colour) -> float:
    return _dot((0.2126, 0.7152, 0.0722), colour)


def _oklab(colour: Colour) -> Colour:
    """Björn Ottosson's perceptual space."""
    long = _dot((0.4122214708, 0.5363325363, 0.0514459929), colour) ** (1 / 3)
    middle = _dot((0.2119034982, 0.6806995451, 0.1073969566), colour) ** (1 / 3)
    short = _dot((0.0883024619, 0.2817188376, 0.6299787005), colour) ** (1 / 3)
    cones = (long, middle, short)
    return (
        _dot((0.2104542553, 0.7936177850, -0.0040720468), cones),
        _dot((1.9779984951, -2.4285922050, 0.4505937099), cones),
        _dot((0.0259040371, 0.7827717662, -0.8086757660), cones),
    )
