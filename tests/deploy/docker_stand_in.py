"""Put on PATH as `docker`: runs a command with the files and the environment of a service."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

FLAGS = {"-T", "--rm", "--no-deps"}


def main(arguments: list[str]) -> None:
    services = json.loads(Path(os.environ["STAND_IN_SERVICES"]).read_text())
    compose, command, *rest = arguments
    assert compose == "compose"
    assert command in {"exec", "run"}, arguments
    while rest[0] in FLAGS:
        del rest[0]
    service = services[rest[0]]
    words = [re.sub(service["image_path"], service["root"] + "/", word) for word in rest[1:]]
    os.chdir(service["folder"])
    os.execvpe(words[0], words, service["env"])  # noqa: S606 - it is the command of the page


if __name__ == "__main__":
    main(sys.argv[1:])
