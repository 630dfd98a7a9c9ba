"""The sandboxed process that runs Apprise: a JSON request on stdin, a JSON response on stdout.

`apprise_sender` starts it. The URL is on stdin, since process lists show arguments.
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
    request = json.load(sys.stdin)
    asset = AppriseAsset(
        app_id="Toolgauge",
        async_mode=False,
        storage_mode=PersistentStoreMode.MEMORY,
        allow_templates=False,
        http_redirects=False,
        service_timeout=request["within_s"],
    )
    log_capture = _LogCapture()
    logging.getLogger("apprise").addHandler(log_capture)
    # Only the module of the service is loaded: all of them take seconds.
    service_class = _service_class(request["url"].partition(":")[0])
    refused = confine_process(_parse_rules(request["rules"]))
    service = _parse_url(service_class, request["url"], asset)
    response: dict[str, Any] = {"is_understood": service is not None}
    if service is not None and "text" in request:
        server = Apprise(asset=asset)
        server.add(service)
        values = {"title": request["title"], "body": request["text"]}
        response["is_sent"] = bool(server.notify(**values, body_format=NotifyFormat.TEXT))
        response |= {"refused": " ".join(refused[:1]), "error": " ".join(log_capture.lines[-3:])}
    print(json.dumps(response))


def _service_class(scheme: str) -> type[NotifyBase]:
    service = SERVICES[scheme.lower()]
    module = import_module(f"apprise.plugins.{service.module}")
    service_class: type[NotifyBase] = getattr(module, service.name)
    return service_class


def _parse_url(service_class: type[NotifyBase], url: str, asset: AppriseAsset) -> NotifyBase | None:
    """The service of a URL, or None if Apprise cannot parse it."""
    parts = service_class.parse_url(url)
    try:
        return service_class(**{**parts, "asset": asset}) if parts else None
    except (TypeError, ValueError, AppriseException):
        return None


class _LogCapture(logging.Handler):
    """Captures the errors of Apprise, which it only logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage()[:500])


def _parse_rules(rules: dict[str, Any]) -> EgressRules:
    return EgressRules(_parse_grants(rules["grants"]), _parse_grants(rules["denied"]))


def _parse_grants(grants: list[list[Any]]) -> tuple[EgressGrant, ...]:
    return tuple(EgressGrant(ip_network(place), first, last) for place, first, last in grants)


if __name__ == "__main__":
    main()
