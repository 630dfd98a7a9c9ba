"""The OpenAPI document, with the parameters and responses that all operations share."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic.json_schema import models_json_schema
from typing_extensions import override

from dashboard.api import auth, idempotency
from dashboard.api.errors import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{model}"
_KEY: dict[str, Any] = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "Drawn by you: the same request with the same key is done once in 24 hours",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$", "title": idempotency.HEADER},
}


class OpenApiDocument(OpenAPISchema):
    @override
    def responses(self, operation: Operation) -> dict[Any, Any]:
        return super().responses(operation) | {
            status: _error_response_schema(status) for status in _error_responses(operation)
        }

    @override
    def operation_details(self, operation: Operation) -> dict[str, Any]:
        details: dict[str, Any] = super().operation_details(operation)
        for right in auth.operation_rights(operation.auth_callbacks):
            details["x-right"] = right.value
        if operation.auth_callbacks and set(operation.methods) - {"GET"}:
            details["parameters"] = [*details["parameters"], _KEY]
        return details

    @override
    def operation_security(self, operation: Operation) -> list[dict[str, Any]] | None:
        schemes = super().operation_security(operation) or []
        if not schemes:
            return None
        pairs = zip(schemes, operation.auth_callbacks, strict=True)
        return [
            security
            for scheme, callback in pairs
            for security in _security_schemes(scheme, callback)
        ]

    @override
    def get_components(self) -> dict[str, Any]:
        _, defined = models_json_schema([(Problem, "validation")], ref_template=_REF)
        self.schemas.update(defined["$defs"])
        return super().get_components()


def _security_schemes(scheme: dict[str, Any], callback: Any) -> list[dict[str, Any]]:
    """One per scope: any of them is enough for the operation."""
    if not isinstance(callback, auth.Token):
        return [scheme]
    return [{type(callback).__name__: [scope.value]} for scope in callback.scopes]


def _error_responses(operation: Operation) -> list[int]:
    """The error statuses that an operation of this kind can return."""
    sources = {model.__ninja_param_source__ for model in operation.models}
    statuses = [401, 403, 429] if operation.auth_callbacks else []
    if "path" in sources:
        statuses.append(404)
    if set(operation.methods) - {"GET"}:
        statuses += [400, 409, 422]
    if "body" in sources:
        statuses.append(413)
    return sorted({*statuses, 422} if sources else set(statuses))


def _error_response_schema(status: int) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model=Problem.__name__)}}}
    return {"description": HTTPStatus(status).phrase, "content": content}
