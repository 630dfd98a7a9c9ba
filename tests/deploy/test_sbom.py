"""The bill of materials that is made for a release (requirements/sbom)."""

from __future__ import annotations

import json
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from tests.deploy.image import link_pinned, pinned_versions

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "requirements/base.txt"


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an environment that has what production installs."""
    environment = tmp_path_factory.mktemp("production")
    venv.EnvBuilder(symlinks=True).create(environment)
    link_pinned(PINNED, environment)
    command = [ROOT / "requirements/sbom", environment / "bin/python"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_bill_of_materials_keeps_to_the_schema(bill: str) -> None:
    """It is CycloneDX 1.6, which other programs read."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None


def test_bill_of_materials_lists_what_is_pinned(bill: str) -> None:
    """Every package with the version of its pin, and no other; nearly all name their licence."""
    components = json.loads(bill)["components"]

    listed = {canonicalize_name(part["name"]): part["version"] for part in components}
    assert listed == pinned_versions(PINNED)
    assert all(part["purl"].startswith("pkg:pypi/") for part in components)
    assert sum("licenses" in part for part in components) > len(components) * 0.9


def test_bill_of_materials_describes_the_product(bill: str) -> None:
    """Its subject is this version of Toolgauge."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    subject = json.loads(bill)["metadata"]["component"]

    assert (subject["name"], subject["version"]) == (project["name"], project["version"])
