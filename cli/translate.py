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
# A body with one of these fields is a request; any other is a reply.
_REQUEST_FIELDS = ("messages", "input", "contents")


def run(options: argparse.Namespace) -> int:
    """Print the translated body to standard output, and each loss to standard error."""
    result = parse_json(sys.stdin.read(), max_bytes=MAX_BYTES)
    if result.error is not None:
        return _print_error(f"Standard input is not JSON. {result.error}")
    try:
        translation = _translate(result.value, options)
    except WireError as exc:
        return _print_error(f"{exc.message} (at {exc.at or '$'})")
    for loss in translation.losses:
        print(f"loss: {loss.kind} at {loss.path}: {loss.message}", file=sys.stderr)
    for sent, name in translation.names.names.items():
        print(f"renamed: the tool {name!r} is sent as {sent!r}.", file=sys.stderr)
    print(json.dumps(translation.body, ensure_ascii=False, indent=2))
    return 0


def _translate(body: JSON, options: argparse.Namespace) -> Translation:
    source, target = FORMATS[options.source], FORMATS[options.target]
    is_request = isinstance(body, Mapping) and any(field in body for field in _REQUEST_FIELDS)
    if options.kind == "request" or (options.kind == "auto" and is_request):
        return translate_request(body, source, target)
    return translate_reply(body, source, target)


def _print_error(message: str) -> int:
    print(message, file=sys.stderr)
    return 2
