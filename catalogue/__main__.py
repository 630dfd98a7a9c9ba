"""`python -m catalogue`: update the catalogue from the sources, and compile it."""

from __future__ import annotations

import sys

from catalogue import chinese
from catalogue.sources import collect_messages
from catalogue.translation_faults import find_faults


def main() -> int:
    messages = collect_messages()
    catalog = chinese.merge_messages(chinese.read_catalogue(), messages)
    chinese.FOLDER.mkdir(parents=True, exist_ok=True)
    chinese.EDITED.write_bytes(chinese.write_po_file(catalog))
    chinese.COMPILED.write_bytes(chinese.write_mo_file(catalog))
    faults = find_faults(catalog, messages)
    for line in faults:
        sys.stderr.write(f"{line}\n")
    sys.stderr.write(f"{len(messages)} texts, {len(faults)} faults. Edit {chinese.EDITED}.\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
