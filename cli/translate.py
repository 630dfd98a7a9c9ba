"""`toolgauge translate`: a request or reply of one wire format, written in another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from probes.adapters import FORMATS
from probes.errors import WireError
from probes.messages import JSON
from probes.strict_json import parse_json
from probes.translate import Translation, translate_reply, translate_request

MAX_BYTES = 64 * 1024 * 1024
# A body with one of these asks; one without answers.
_ASKS = ("messages", "input", "contents")


def run(options: argparse.Namespace) -> int:
    """The translated body on standard output, each loss as a line on standard error."""
    parsed = parse_json(sys.stdin.read(), max_bytes=MAX_BYTES)
    if parsed.error is not None:
        return _refuse(f"Standard input is not JSON. {parsed.error}")
    try:
        translated = _translate(parsed.value, options)
    except WireError as exc:
        return _refuse(f"{exc.message} (at {exc.at or '$'})")
    for loss in translated.losses:
        print(f"loss: {loss.kind} at {loss.path}: {loss.message}", file=sys.stderr)
    print(json.dumps(translated.body, ensure_ascii=False, indent=2))
    return 0


def _translate(body: JSON, options: argparse.Namespace) -> Translation:
    source, target = FORMATS[options.source], FORMATS[options.target]
    asks = isinstance(body, Mapping) and any(field in body for field in _ASKS)
    if options.kind == "request" or (options.kind == "auto" and asks):
        return translate_request(body, source, target)
    return translate_reply(body, source, target)


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 2
