"""`toolgauge doctor`: checks the installation and says what to do about each problem."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

import django
from django.core.exceptions import ImproperlyConfigured

from cli.terminal import print_message, print_result, safe_text
from launcher import running_product

if TYPE_CHECKING:
    from dashboard.system.doctor import DoctorReport
    from dashboard.system.doctor.check import Check

GOOD, BELOW, USAGE = 0, 1, 2
_MARKS = {"ok": "ok  ", "warn": "WARN", "bad": "BAD "}


def run(options: argparse.Namespace) -> int:
    """Run all checks and print them; exit 1 if one is bad, or with --strict if one warns."""
    folder = options.data_dir or running_product.default_folder(os.environ)
    os.environ |= running_product.find_environment(folder, os.environ)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    try:
        django.setup()
    except (ImproperlyConfigured, ValueError) as exc:
        return _report_unreadable_settings(str(exc))
    return _run_checks(options)


def _report_unreadable_settings(reason: str) -> int:
    print_message(
        f"toolgauge doctor: the settings cannot be read: {reason}\n{running_product.WHERE}"
    )
    return USAGE


def _run_checks(options: argparse.Namespace) -> int:
    from dashboard.system.doctor import run_checks

    report = run_checks()
    print_result(_as_json(report) if options.json else "\n".join(map(_format_check, report.checks)))
    if not report.is_reachable:
        print_message(running_product.WHERE)
        return USAGE
    failing = {"bad", "warn"} if options.strict else {"bad"}
    return BELOW if report.worst in failing else GOOD


def _as_json(report: DoctorReport) -> str:
    checks = [
        {"name": c.name, "verdict": c.verdict.value, "found": c.message, "do": c.advice or None}
        for c in report.checks
    ]
    return json.dumps({"verdict": report.worst.value, "checks": checks}, indent=2)


def _format_check(check: Check) -> str:
    line = f"{_MARKS[check.verdict]}  {check.name:<20}{check.message}"
    # The finding may contain output of other programs.
    return safe_text(f"{line}\n{'':26}-> {check.advice}" if check.advice else line)
