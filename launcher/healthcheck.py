"""Health check of a web container: exit 0 when its pages can be served."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from launcher.ports import page_status


def main(arguments: Sequence[str]) -> int:
    """Request `/readyz` on the given port."""
    port = int(arguments[0]) if arguments else 8000
    return 0 if page_status(port, "/readyz", os.environ["PUBLIC_URL"]) == 200 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
