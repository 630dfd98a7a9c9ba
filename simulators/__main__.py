from __future__ import annotations

import argparse

from simulators.server import DEFAULT_PORT, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulators", description="Serve the simulated vendors.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    options = parser.parse_args()
    return serve(options.host, options.port)


if __name__ == "__main__":
    raise SystemExit(main())
