from __future__ import annotations

import argparse

from simulators.options import add_options
from simulators.server import DEFAULT_PORT, serve
from simulators.vendors.vendor import LATENCY


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulators", description="Serve the simulated vendors.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    add_options(parser)
    options = parser.parse_args()
    latency = options.latency or LATENCY
    clock = {"speed": options.speed, "since": options.since}
    return serve(options.host, options.port, latency=latency, **clock)


if __name__ == "__main__":
    raise SystemExit(main())
