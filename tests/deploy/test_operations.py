"""docs/operations.md as a path that is walked, from the first start to an upgrade."""

from __future__ import annotations

import re
import shutil
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from launcher import ports
from launcher.process import Process
from tests.browser import chromium
from tests.browser.watch import Watch
from tests.deploy.compose_file import read_env_file
from tests.deploy.containers import PATIENCE_SECONDS, ComposeProject
from tests.deploy.image import Image, install_project, link_pinned
from tests.deploy.operations_page import ROOT, Shell, commands_of
from tests.deploy.table_rows import count_rows
from tests.deploy.tls_proxy import HOST, TlsProxy, tls_proxy
from tests.deploy.units import Host
from tests.live import eventually
from tests.programs import require_program

NEVER_COPIED = (".git", ".venv", "__pycache__", ".*_cache", "var", "tests", "docs", "benchmarks")
OFFLINE = ("--no-deps", "--no-index", "--no-build-isolation", "--editable", ".")
PATIENCE_MS = PATIENCE_SECONDS * 1000
NEW_PASSWORD = "a password of my own"
ENDPOINTS = """
version: 1
endpoints:
  first:
    provider: openai
    base_url: {vendor}/open/v1
    model: sim-steady
"""


FINISHED_RUNS = "SELECT FROM dashboard_run WHERE state = 'finished'"


@dataclass(frozen=True, slots=True)
class Installation:
    """A copy of the project with its services, its proxy and a browser."""

    project: ComposeProject
    shell: Shell
    proxy: TlsProxy
    browser: Browser

    def setting(self, name: str) -> str:
        return read_env_file(self.project.folder / ".env")[name]

    def database(self) -> str:
        return self.project.environment("web")["DATABASE_URL"]

    def finished_runs(self) -> int:
        with psycopg.connect(self.database()) as session:
            return session.execute(FINISHED_RUNS).rowcount

    def sign_in(self, password: str) -> Page:
        page = self.browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"https://{HOST}/")
        page.get_by_label("Username").fill("admin")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        return page


@pytest.mark.timeout(3600)
def test_documented_path_leads_from_install_to_restore(tmp_path: Path, vendor_url: str) -> None:
    """Every service runs its own command on the image's files; every command of the page works."""
    folder = _copy_project(tmp_path)
    with _started(ComposeProject(folder, tmp_path / "state"), vendor_url) as at:
        files = _files_of(at.project.image)
        _check_proxy(at)
        page = _first_sign_in(at)
        _first_endpoint(at, page, vendor_url)
        at.shell.run_all("## Workers on another host")
        _check_monitoring(at, workers=2)
        _back_up_and_restore(at)
        _expect_charts(at.sign_in(NEW_PASSWORD))
        assert _files_of(at.project.image) == files, "a service wrote to its image"
        at.shell.run_all("## Upgrade")
        _serve_by_units(at, tmp_path)


def _copy_project(tmp_path: Path) -> Path:
    """The project with what must not get into the image."""
    ignore = shutil.ignore_patterns(*NEVER_COPIED)
    folder = Path(shutil.copytree(ROOT, tmp_path / "project", ignore=ignore))
    (folder / "var").mkdir()
    (folder / "var/secret-key").write_text("of a developer")
    return folder


@contextmanager
def _started(project: ComposeProject, vendor_url: str) -> Iterator[Installation]:
    """`## Install`, `### With containers`: the commands of the page, with ports of this machine."""
    shell = Shell(project)
    create_settings, *start = commands_of("### With containers")
    shell.run(create_settings)
    web_port = ports.free_port()
    _set(project.folder, WEB_PORT=str(web_port), SCHEDULE_EVERY="1s")
    _set(project.folder, EGRESS_GRANTS=vendor_url.removeprefix("http://"))
    with tls_proxy(project.state.parent / "nginx", web_port) as proxy, _browser(proxy) as browser:
        try:
            for command in start:
                shell.run(command)
            yield Installation(project, shell, proxy, browser)
        finally:
            project.stop()


def _set(folder: Path, **settings: str) -> None:
    text = (folder / ".env").read_text()
    for name, value in settings.items():
        text, count = re.subn(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        assert count == 1, name
    (folder / ".env").write_text(text)


@contextmanager
def _browser(proxy: TlsProxy) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = require_program(chromium.find_browser(playwright), chromium.ADVICE)
        rule = f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{proxy.port}"
        yield playwright.chromium.launch(executable_path=path, args=[*chromium.FLAGS, rule])


def _check_proxy(at: Installation) -> None:
    """Pages open over TLS without a redirect loop, in both languages; plain HTTP leads there."""
    plain = httpx.get(f"http://127.0.0.1:{at.proxy.plain_port}/", headers={"Host": HOST})
    assert (plain.status_code, plain.headers["Location"]) == (301, f"https://{HOST}/")
    with at.proxy.client() as client:
        assert client.get("/").headers["Location"].startswith("/login/")
        page = client.get("/login/", headers={"Accept-Language": "zh-CN"})
        assert page.status_code == 200
        assert "登录" in page.text
        for link in re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text):
            assert client.get(link).status_code == 200, link


def _first_sign_in(at: Installation) -> Page:
    """`## First sign-in`: the printed password opens nothing but the page that changes it."""
    printed = re.search(r"password  (\S+)", at.project.logs("migrate"))
    assert printed, at.project.logs("migrate")
    page = at.sign_in(printed[1])
    expect(page.get_by_role("heading", name="Change your password")).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.goto(f"https://{HOST}/")
    page.get_by_label("Old password").fill(printed[1])
    page.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("New password confirmation").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    page.goto(f"https://{HOST}/")
    expect(page.get_by_role("heading", name="The first verdict takes a minute")).to_be_visible(
        timeout=PATIENCE_MS
    )
    return page


def _first_endpoint(at: Installation, page: Page, vendor_url: str) -> None:
    (at.project.folder / "endpoints.yaml").write_text(ENDPOINTS.format(vendor=vendor_url))
    at.shell.run_all("## First sign-in")
    eventually(lambda: at.finished_runs() == 1, seconds=PATIENCE_SECONDS)
    watch = Watch(page)
    _expect_charts(page)
    assert _problems(watch) == []
    page.context.close()


def _expect_charts(page: Page) -> None:
    """The fleet shows the figures of a real run, and the endpoint's page draws them."""
    page.goto(f"https://{HOST}/")
    expect(page.locator("svg.spark path.bar").first).to_be_attached(timeout=PATIENCE_MS)
    page.goto(f"https://{HOST}/endpoints/first/?range=24h")
    chart = page.locator("[data-chart]").first
    expect(chart).to_have_attribute("data-points", re.compile("[1-9]"), timeout=PATIENCE_MS)


def _check_monitoring(at: Installation, *, workers: int) -> None:
    token = {"Authorization": f"Bearer {at.setting('METRICS_TOKEN')}"}
    with at.proxy.client() as client:
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert client.get("/metrics").status_code in {401, 403}
        alive = f"toolgauge_workers_alive {workers}.0\n"
        eventually(lambda: alive in client.get("/metrics", headers=token).text)


def _back_up_and_restore(at: Installation) -> None:
    """`## Backup` and `## Restore`: dump, drop, restore, and every table has the same rows."""
    rows = dict[str, int]()
    while rows != (rows := count_rows(at.database())):
        at.shell.run_all("## Backup")
    for command in commands_of("## Restore"):
        at.shell.run(command)
        if "createdb" in command:
            assert count_rows(at.database()) == {}
        if "pg_restore" in command:
            assert count_rows(at.database()) == rows


def _serve_by_units(at: Installation, tmp_path: Path) -> None:
    """`### Without containers`: the units' commands serve the same database."""
    at.project.stop("web", "worker", "beat")
    host = _install_units(at, tmp_path)
    host.run("toolgauge-migrate")
    processes: list[Process] = []
    try:
        for unit in ("toolgauge-web", "toolgauge-worker@1", "toolgauge-beat"):
            processes.append(host.start(unit))
        with at.proxy.client() as client:
            eventually(lambda: client.get("/readyz").status_code == 200, seconds=PATIENCE_SECONDS)
        page = at.sign_in(NEW_PASSWORD)
        page.goto(f"https://{HOST}/endpoints/first/")
        page.get_by_role("link", name="Re-probe").click()
        page.get_by_role("dialog").get_by_role("button", name="Start the full run").click()
        eventually(lambda: at.finished_runs() == 2, seconds=PATIENCE_SECONDS)
        _expect_charts(page)
        assert [process.exit_code() for process in processes] == [None, None, None]
    finally:
        for process in reversed(processes):
            process.stop()


def _install_units(at: Installation, tmp_path: Path) -> Host:
    """What the page says before `systemctl`; packages are linked as for the image."""
    folder = at.project.folder
    venv.EnvBuilder(symlinks=True).create(folder / ".venv")
    for pinned in ("bootstrap", "base"):
        link_pinned(folder / f"requirements/{pinned}.txt", folder / ".venv")
    install_project(folder / ".venv", folder, OFFLINE)
    servers = {name: at.project.environment("web")[name] for name in ("DATABASE_URL", "REDIS_URL")}
    _set(folder, **servers, DATA_DIR=str(tmp_path / "lib"))
    (tmp_path / "private").mkdir()
    paths = {
        "/opt/toolgauge": str(folder),
        "/etc/toolgauge.env": str(folder / ".env"),
        "/tmp": str(tmp_path / "private"),
        "8000": at.setting("WEB_PORT"),
    }
    return Host(paths, tmp_path / "units.log")


def _files_of(image: Image | None) -> dict[str, int]:
    """Files and their time of change; also checks that nothing of a developer is in the image."""
    assert image is not None
    app = image.path("/app")
    assert not [name for name in (".env", "var", "tests", ".git") if (app / name).exists()]
    files = [path for path in app.rglob("*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in files}


def _problems(watch: Watch) -> list[str]:
    """What went wrong in the browser; its requests go to the proxy on this machine."""
    ours = f"request left this machine: https://{HOST}/"
    return [problem for problem in watch.problems if not problem.startswith(ours)]
