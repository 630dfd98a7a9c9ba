"""The HTTP API under /api/v1/, described at /api/v1/openapi.json and in docs/api.md."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from typing_extensions import override

from dashboard.api import errors, problems
from dashboard.api import urls as api_urls
from dashboard.api.openapi import OpenApiDocument
from dashboard.api.wire import Renderer, StrictParser
from dashboard.audit import api as audit
from dashboard.charts.api import metrics, notes
from dashboard.endpoints.api import endpoints, profiles
from dashboard.incidents import api as incidents
from dashboard.people.api import people, teams, tokens
from dashboard.policy.api import modes, policies, tool_rules
from dashboard.rollouts.api import gates, rollouts
from dashboard.runs.api import attempts, run_events, runs, telemetry


class Api(NinjaAPI):
    @override
    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        return OpenApiDocument(self, path_prefix or self.get_root_path(path_params or {}))

    @override
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = Api(
    title="Toolgauge",
    version="1",
    description="How well model endpoints call tools, with the evidence behind every number.",
    urls_namespace="api-v1",
    docs_url=None,  # it needs inline scripts, which no page here may have
    parser=StrictParser(),
    renderer=Renderer(),
)
errors.add_error_handlers(api)
api.add_router("/endpoints", endpoints.router)
api.add_router("/endpoints", profiles.router)
api.add_router("/endpoints", runs.of_endpoint)
api.add_router("/endpoints", metrics.of_endpoint)
api.add_router("/endpoints", policies.router)
api.add_router("/endpoints", modes.router)
api.add_router("/endpoints", notes.router)
api.add_router("/endpoints", rollouts.of_endpoint)
api.add_router("/rollouts", rollouts.router)
api.add_router("/gates", gates.router)
api.add_router("/incidents", incidents.router)
api.add_router("/tool-rules", tool_rules.router)
api.add_router("/runs", runs.router)
api.add_router("/runs", run_events.router)
api.add_router("/runs", attempts.router)
api.add_router("/runs", metrics.of_run)
api.add_router("/audit", audit.router)
api.add_router("/people", people.router)
api.add_router("/teams", teams.router)
api.add_router("/tokens", tokens.router)
api.add_router("/telemetry", telemetry.router)
api.add_router("/problems", problems.router)

urls = api_urls.api_patterns(api)
