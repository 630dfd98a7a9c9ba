"""`toolgauge audit verify`, `head` and `grant`: verify the audit log, and limit who may write it.

Imports of the project are inside the functions: `toolgauge --help` loads this file.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from cli import endpoints
from cli.endpoints import BELOW, GOOD, USAGE
from cli.terminal import print_message, print_result

if TYPE_CHECKING:
    from dashboard.audit.chain import ChainVerdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    jobs = parser.add_subparsers(title="jobs", metavar="JOB", required=True)
    verify_job = jobs.add_parser("verify", help="check that the log is as it was written")
    verify_job.add_argument(
        "--expect",
        metavar="SEQ:HEX",
        help="a head that was kept elsewhere; the log must still lead to it",
    )
    verify_job.add_argument("--json", action="store_true", help="the result as JSON")
    verify_job.set_defaults(job=_verify_log)
    jobs.add_parser("head", help="print the newest link, to be kept elsewhere").set_defaults(
        job=_print_head
    )
    grant_job = jobs.add_parser(
        "grant", help="let a database role run the product without a right over the log"
    )
    grant_job.add_argument("role", metavar="ROLE", help="a role that can log in and owns nothing")
    grant_job.set_defaults(job=_grant_role)
    for job in (verify_job, grant_job, jobs.choices["head"]):
        endpoints.add_data_dir_argument(job)


def run(options: argparse.Namespace) -> int:
    return endpoints.run_with_database(options, options.job)


def _verify_log(options: argparse.Namespace) -> int:
    from dashboard.audit import chain

    try:
        expect = chain.parse_head(options.expect) if options.expect else None
    except ValueError as exc:
        print_message(f"toolgauge audit verify: {exc}.")
        return USAGE
    verdict = chain.verify_chain(expect=expect)
    _print_verdict(verdict)
    print_result(json.dumps(verdict.as_json(), indent=2) if options.json else str(verdict.head))
    return GOOD if verdict.is_good else BELOW


def _print_verdict(verdict: ChainVerdict) -> None:
    for break_ in verdict.breaks:
        places = {"link": break_.seq, "entry": break_.entry}
        where = ", ".join(
            f"{name} {number}" for name, number in places.items() if number is not None
        )
        print_message(f"{break_.kind.value}: {where}: {break_.what}")
    if verdict.more:
        print_message("... and more.")
    if verdict.is_good:
        print_message(f"The audit log is whole: {verdict.links:,} entries.")
    else:
        print_message("The audit log is broken.")


def _print_head(options: argparse.Namespace) -> int:
    from dashboard.audit import chain

    print_result(str(chain.read_head()))
    return GOOD


def _grant_role(options: argparse.Namespace) -> int:
    from dashboard.audit import database_role
    from dashboard.core.errors import Refused

    try:
        database_role.grant_role(options.role)
    except Refused as exc:
        print_message(f"toolgauge audit grant: {exc.message}")
        return USAGE
    print_message(f"{options.role} can run the product. It can add to the audit log, and no more.")
    return GOOD
