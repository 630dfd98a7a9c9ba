"""Builds the file set of the image by following the Dockerfile, without a container engine.

Each stage gets a folder, and paths of the image (`/app`, `/opt/venv`, `/tmp`) mean paths in it.
COPY obeys .dockerignore, ENV and WORKDIR hold for the steps after them, and RUN runs. Three steps
are done in another way, since this is no container and no test uses the network. `python -m venv`
makes an environment without pip. `pip install --require-hashes` links the distributions from the
environment of the tests after comparing each version with its pin, so that only what the files pin
can be imported; their scripts are missing, so commands start them with `python -m`. `useradd` adds
nobody. The project itself is installed, by the pip of the tests.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from itertools import pairwise
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

# What the official Python image sets.
BASE_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
IMAGE_PATH = re.compile(r"(?<![\w./-])/(?=(?:app|opt/venv|tmp)(?![\w-]))")
_PIP = re.compile(r"(?:(/\S+)/bin/)?pip (install|uninstall) (.*)")


@dataclass(frozen=True, slots=True)
class Image:
    """A stage of the build; the last one is the image."""

    root: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(BASE_ENV))
    workdir: str = "/"
    user: str = "root"
    command: tuple[str, ...] = ()
    healthcheck: tuple[str, ...] = ()

    def path(self, path: str) -> Path:
        return self.root / str(PurePosixPath(self.workdir) / path).lstrip("/")

    def environment(self) -> dict[str, str]:
        return {name: self.on_host(value) for name, value in self.env.items()}

    def on_host(self, text: str) -> str:
        """The text with paths of the image turned into paths of this machine."""
        return IMAGE_PATH.sub(f"{self.root}/", text)


def build_image(context: Path, scratch: Path, args: Mapping[str, str]) -> Image:
    """Follow the Dockerfile of a folder; `args` are its build arguments."""
    stages: dict[str, Image] = {}
    image = Image(scratch)
    for name, rest in _instructions((context / "Dockerfile").read_text()):
        if name == "FROM":
            stage = rest.partition(" AS ")[2] or "image"
            assert rest.split()[0] == "${PYTHON_IMAGE}"
            assert args["PYTHON_IMAGE"].startswith("python:3.")
            image = stages[stage] = Image(scratch / stage)
            image.path("/tmp").mkdir(parents=True)
        elif name == "COPY":
            _copy(rest, image, stages, context)
        elif name == "RUN":
            _run(rest, image)
        else:
            image = _configure(image, name, rest)
    return image


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


def _configure(image: Image, name: str, rest: str) -> Image:
    match name:
        case "ENV":
            words = [word.split("=", 1) for word in shlex.split(rest)]
            return replace(image, env=_set_variables(image.env, words))
        case "WORKDIR":
            image.path(rest).mkdir(parents=True, exist_ok=True)
            return replace(image, workdir=rest)
        case "USER":
            return replace(image, user=rest)
        case "CMD":
            return replace(image, command=tuple(json.loads(rest)))
        case "HEALTHCHECK":
            return replace(image, healthcheck=tuple(json.loads(rest.partition("CMD ")[2])))
        case "ARG" | "EXPOSE":
            return image
        case _:
            raise AssertionError(f"no step of this kind is known: {name}")


def _set_variables(env: Mapping[str, str], words: Iterable[list[str]]) -> dict[str, str]:
    """Values see the variables of earlier steps: `PATH=/opt/venv/bin:$PATH`."""
    new = {name: re.sub(r"\$(\w+)", lambda match: env[match[1]], value) for name, value in words}
    return {**env, **new}


def _copy(rest: str, image: Image, stages: Mapping[str, Image], context: Path) -> None:
    *sources, target = [word for word in rest.split() if not word.startswith("--")]
    if option := re.match(r"--from=(\w+) ", rest):
        shutil.copytree(stages[option[1]].path(sources[0]), image.path(target), symlinks=True)
        return
    for source in sources:
        for file in _files_of_context(context, PurePosixPath(source)):
            relative = file.relative_to(source) if (context / source).is_dir() else PurePosixPath()
            copied = image.path(target) / relative
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(context / file, copied)


def _files_of_context(context: Path, source: PurePosixPath) -> Iterator[PurePosixPath]:
    """The files that the engine sends to the build: those that .dockerignore leaves."""
    rules = [
        (line.startswith("!"), _glob(line.removeprefix("!")))
        for line in (context / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    found = sorted((context / source).rglob("*")) if (context / source).is_dir() else [source]
    for path in found:
        file = PurePosixPath(path.relative_to(context) if isinstance(path, Path) else path)
        if (context / file).is_file() and not _is_ignored(file, rules):
            yield file


def _is_ignored(file: PurePosixPath, rules: list[tuple[bool, re.Pattern[str]]]) -> bool:
    """The last rule that matches the file or a folder above it decides."""
    names = [str(file), *map(str, file.parents)]
    ignored = False
    for is_exception, pattern in rules:
        if any(pattern.fullmatch(name) for name in names):
            ignored = not is_exception
    return ignored


def _glob(pattern: str) -> re.Pattern[str]:
    escaped = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(escaped)


def _run(commands: str, image: Image) -> None:
    for command in commands.split(" && "):
        words = command.split()
        if pip := _PIP.fullmatch(command.strip()):
            _run_pip(image, image.path(pip[1] or "/opt/venv"), pip[2], pip[3].split())
        elif words[:3] == ["python", "-m", "venv"]:
            venv.EnvBuilder(symlinks=True).create(image.path(words[3]))
        elif words[0] != "useradd":
            _run_in_image(command, image)


def _run_pip(image: Image, environment: Path, action: str, words: list[str]) -> None:
    if action == "uninstall":
        assert words[0] == "--yes"
        _unlink_distribution(words[1], environment)
    elif "--require-hashes" in words:
        for option, file in pairwise(words):
            if option == "-r":
                link_pinned(image.path(file), environment)
    else:
        install_project(environment, image.path("."), words)


def install_project(environment: Path, folder: Path, words: Sequence[str]) -> None:
    """`pip install` of the project, which needs no network."""
    assert {"--no-deps", "--no-index", "--no-build-isolation"} <= set(words)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    target = ["--python", str(environment / "bin/python"), "install", *words]
    subprocess.run([*pip, *target], cwd=folder, check=True)


def _run_in_image(command: str, image: Image) -> None:
    done = subprocess.run(
        ["sh", "-c", image.on_host(command)],
        cwd=image.path("."),
        env=image.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def pinned_versions(requirements: Path) -> dict[str, str]:
    """Name and version of what a requirements file installs on this machine."""
    lines = [line for line in requirements.read_text().splitlines() if line[:1].isalnum()]
    pins = [Requirement(line.rstrip(" \\")) for line in lines]
    applicable = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in applicable}


def link_pinned(requirements: Path, environment: Path) -> None:
    """Link what the file pins into an environment; the versions must be the pinned ones."""
    for name, pinned in pinned_versions(requirements).items():
        distribution = metadata.distribution(name)
        assert distribution.version == pinned, f"{name} {distribution.version}, pinned {pinned}"
        for top in _top_names(distribution):
            link = _packages(environment) / top
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(top))))


def _unlink_distribution(name: str, environment: Path) -> None:
    for top in _top_names(metadata.distribution(name)):
        (_packages(environment) / top).unlink()


def _top_names(distribution: metadata.Distribution) -> set[str]:
    return {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}


def _packages(environment: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return environment / "lib" / version / "site-packages"
