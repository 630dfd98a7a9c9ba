from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from tests.deploy.compose_file import read_compose_file
from tests.deploy.schema import COMPOSE

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text()
EXAMPLE = (ROOT / ".env.example").read_text()
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OUR_SERVICES = {name: service for name, service in SERVICES.items() if "build" in service}
# Their images change to a user of their own before the server starts.
OFFICIAL_IMAGES = {"${POSTGRES_IMAGE:-postgres:18}", "${VALKEY_IMAGE:-valkey/valkey:9}"}
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z_]+)(:?[-?][^}]*)?\}")


def test_file_keeps_to_the_compose_format() -> None:
    """Every key is one that Compose knows, with a value of the right shape."""
    errors = jsonschema_rs.validator_for(COMPOSE).iter_errors(FILE)

    assert [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in errors] == []


def test_unknown_keys_are_found() -> None:
    """The schema above would notice a misspelt key."""
    wrong = {"services": {"web": {"image": "toolgauge", "helthcheck": {}}}}

    assert not jsonschema_rs.is_valid(COMPOSE, wrong)


def test_parts_of_the_product_are_there() -> None:
    """Web, worker and beat run beside Postgres and Redis; migrate runs before them."""
    assert set(SERVICES) == {"migrate", "web", "worker", "beat", "postgres", "redis"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_service_runs_as_root(name: str) -> None:
    """A service names its user, or is an official image that drops root by itself."""
    service = SERVICES[name]

    assert str(service.get("user", "0")).split(":")[0] != "0" or service["image"] in OFFICIAL_IMAGES


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_service_is_checked_or_ends_by_itself(name: str) -> None:
    """Every long-running service has a health check; one-off commands need none."""
    check = SERVICES[name]["healthcheck"]

    assert check == {"disable": True} if name == "migrate" else "test" in check


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_nothing_starts_before_the_tables_are_there(name: str) -> None:
    """Web, worker and beat wait until the migrations have succeeded."""
    waits_for = SERVICES[name]["depends_on"]

    assert waits_for["migrate"] == {"condition": "service_completed_successfully"}
    assert waits_for["postgres"] == waits_for["redis"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", sorted(OUR_SERVICES))
def test_our_containers_cannot_write_to_their_image(name: str) -> None:
    """A compromised service can change only its temporary folder."""
    service = OUR_SERVICES[name]

    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_secret_is_written_down(name: str) -> None:
    """Keys and passwords come from the environment, and a missing one stops the start."""
    for variable, value in SERVICES[name].get("environment", {}).items():
        if re.search(r"KEY|PASSWORD|_URL$", variable):
            assert ":?" in str(value), f"{variable} must come from the environment"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_service_has_a_memory_limit(name: str) -> None:
    """One service cannot take the memory of the others."""
    assert "mem_limit" in SERVICES[name]


def test_every_base_image_can_be_pinned_to_a_digest() -> None:
    """`.env` can name each image with its digest; `.env.example` has the same defaults."""
    defaults = dict(re.findall(r"\$\{(\w+_IMAGE):-([^}]+)\}", TEXT))
    example = dict(re.findall(r"^(\w+_IMAGE)=(.+)$", EXAMPLE, re.MULTILINE))

    assert set(defaults) == {"PYTHON_IMAGE", "POSTGRES_IMAGE", "VALKEY_IMAGE"}
    assert defaults == example
    assert f"ARG PYTHON_IMAGE={defaults['PYTHON_IMAGE']}\n" in (ROOT / "Dockerfile").read_text()


def test_every_variable_is_explained() -> None:
    """`.env.example` lists every variable that the file reads."""
    used = {match[1] for match in VARIABLE.finditer(TEXT)}
    explained = re.findall(r"^#? ?([A-Z_]+)=", EXAMPLE, re.MULTILINE)

    assert used - set(explained) == set()


def test_addresses_of_servers_elsewhere_win(tmp_path: Path) -> None:
    """A worker on another host uses the servers that its `.env` names."""
    elsewhere = {"DATABASE_URL": "postgresql://a@10.0.0.5/b", "REDIS_URL": "redis://10.0.0.5/0"}
    required = (
        "SECRET_KEY",
        "CREDENTIAL_KEYS",
        "PUBLIC_URL",
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
    )
    lines = [f"{name}=x" for name in required]
    (tmp_path / "docker-compose.yml").write_text(TEXT)
    (tmp_path / ".env").write_text("\n".join(lines))
    own = read_compose_file(tmp_path)["services"]["worker"]["environment"]
    lines += [f"{name}={value}" for name, value in elsewhere.items()]
    (tmp_path / ".env").write_text("\n".join(lines))
    worker = read_compose_file(tmp_path)["services"]["worker"]["environment"]

    assert own["DATABASE_URL"] == "postgresql://toolgauge:x@postgres:5432/toolgauge"
    assert {name: worker[name] for name in elsewhere} == elsewhere


def test_messages_survive_and_are_never_evicted() -> None:
    """Redis persists its data to its volume, and refuses writes rather than evicting."""
    command = " ".join(SERVICES["redis"]["command"])

    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert SERVICES["redis"]["volumes"] == ["redis:/data"]


def test_named_volumes_are_declared() -> None:
    """Data is in volumes that outlive the containers."""
    named = {entry.split(":")[0] for s in SERVICES.values() for entry in s.get("volumes", [])}

    assert named == set(FILE["volumes"])


def test_worker_gives_its_runs_back_in_time() -> None:
    """On a stop the worker shuts down at once and has a minute to return its runs."""
    worker = SERVICES["worker"]

    assert worker["environment"]["REMAP_SIGTERM"] == "SIGQUIT"
    assert worker["stop_grace_period"] == "60s"
