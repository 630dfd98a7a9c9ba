"""A page in another language: the texts of the server, and those that scripts update."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.watch import Watch
from tests.factories import make_endpoint, make_finished_run


@pytest.fixture
def probed(transactional_db: None) -> None:
    """An endpoint whose run has just ended."""
    make_finished_run(make_endpoint())


@pytest.mark.usefixtures("probed")
def test_a_reader_switches_to_chinese_and_back(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """Times that a script updates and the labels of the theme follow the page's language."""
    page, watch = open_page()
    ended, account = page.locator("time[data-relative]").first, page.locator(".account-button")
    expect(ended).to_have_text(re.compile("^(just now|[0-9]+ (s|min) ago)$"))

    account.click()
    page.get_by_role("button", name="简体中文").click()

    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(ended).to_have_text(re.compile("^(刚刚|[0-9]+ (秒|分钟)前)$"))
    expect(ended).to_have_attribute("title", re.compile("^[0-9]{4}年[0-9]+月[0-9]+日"))
    account.click()
    expect(page.locator("[data-theme-choice=auto]")).to_have_text("自动")

    page.get_by_role("button", name="English").click()

    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(ended).to_have_text(re.compile("ago$|^just now$"))
    assert watch.problems == []
