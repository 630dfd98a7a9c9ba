"""`python -m catalogue`: bring the catalogue up to the sources, and compile it."""

from __future__ import annotations

import sys

from catalogue import chinese
from catalogue.sources import collect_messages
from catalogue.translation_faults import find_faults


def main() -> int:
    wanted = collect_messages()
    catalog = chinese.merge_messages(chinese.read_catalogue(), wanted)
    chinese.FOLDER.mkdir(parents=True, exist_ok=True)
    chinese.EDITED.write_bytes(chinese.write_po_file(catalog))
    chinese.COMPILED.write_bytes(chinese.write_mo_file(catalog))
    found = find_faults(catalog, wanted)
    for line in found:
        sys.stderr.write(f"{line}\n")
    sys.stderr.write(f"{len(wanted)} texts, {len(found)} faults. Edit {chinese.EDITED}.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
