"""The confined process that runs Apprise: one question in, one answer out, both JSON.

Started by `apprise_sender`. The URL comes by standard input, where no list of processes shows it.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib import import_module
from ipaddress import ip_network
from typing import Any

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat, PersistentStoreMode
from apprise.exception import AppriseException
from typing_extensions import override

from dashboard.notifications.senders.apprise_services import SERVICES
from probes.egress_rules import EgressGrant, EgressRules
from probes.sandbox import confine_process


def main() -> None:
    question = json.load(sys.stdin)
    asset = AppriseAsset(
        app_id="Toolgauge",
        async_mode=False,
        storage_mode=PersistentStoreMode.MEMORY,
        allow_templates=False,
        http_redirects=False,
        service_timeout=question["within_s"],
    )
    logged = _LogCapture()
    logging.getLogger("apprise").addHandler(logged)
    # Loaded one by one: all of them take seconds.
    service_class = _service_class(question["url"].partition(":")[0])
    refused = confine_process(_parse_rules(question["rules"]))
    service = _parse_url(service_class, question["url"], asset)
    answer: dict[str, Any] = {"is_understood": service is not None}
    if service is not None and "text" in question:
        server = Apprise(asset=asset)
        server.add(service)
        values = {"title": question["title"], "body": question["text"]}
        answer["is_sent"] = bool(server.notify(**values, body_format=NotifyFormat.TEXT))
        answer |= {"refused": " ".join(refused[:1]), "error": " ".join(logged.lines[-3:])}
    print(json.dumps(answer))


def _service_class(scheme: str) -> type[NotifyBase]:
    service = SERVICES[scheme.lower()]
    module = import_module(f"apprise.plugins.{service.module}")
    service_class: type[NotifyBase] = getattr(module, service.name)
    return service_class


def _parse_url(service_class: type[NotifyBase], url: str, asset: AppriseAsset) -> NotifyBase | None:
    """The service of this URL, or None where it makes no sense to Apprise."""
    parts = service_class.parse_url(url)
    try:
        return service_class(**{**parts, "asset": asset}) if parts else None
    except (TypeError, ValueError, AppriseException):
        return None


class _LogCapture(logging.Handler):
    """What Apprise says went wrong, which it tells its log and not its caller."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage()[:500])


def _parse_rules(rules: dict[str, Any]) -> EgressRules:
    grants = tuple(
        EgressGrant(ip_network(place), first, last) for place, first, last in rules["grants"]
    )
    denied = frozenset((str(host), int(port)) for host, port in rules["denied"])
    return EgressRules(grants, denied)


if __name__ == "__main__":
    main()
