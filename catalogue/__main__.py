"""`python -m catalogue`: bring the catalogue up to the sources, and compile it."""

from __future__ import annotations

import sys

from catalogue import chinese
from catalogue.sources import messages
from catalogue.translation_faults import faults


def main() -> int:
    wanted = messages()
    catalog = chinese.fitted(chinese.read(), wanted)
    chinese.FOLDER.mkdir(parents=True, exist_ok=True)
    chinese.EDITED.write_bytes(chinese.edited(catalog))
    chinese.COMPILED.write_bytes(chinese.compiled(catalog))
    found = faults(catalog, wanted)
    for line in found:
        sys.stderr.write(f"{line}\n")
    sys.stderr.write(f"{len(wanted)} texts, {len(found)} faults. Edit {chinese.EDITED}.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
