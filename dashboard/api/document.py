"""The OpenAPI document: what every operation has in common is added here, once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic.json_schema import models_json_schema
from typing_extensions import override

from dashboard.api.auth import Token
from dashboard.api.errors import Error

_REF = "#/components/schemas/{model}"


class Document(OpenAPISchema):
    @override
    def responses(self, operation: Operation) -> dict[Any, Any]:
        return super().responses(operation) | {
            status: _error(status) for status in _refusals(operation)
        }

    @override
    def operation_security(self, operation: Operation) -> list[dict[str, Any]] | None:
        found = super().operation_security(operation) or []
        for named, auth in zip(found, operation.auth_callbacks, strict=True):
            if isinstance(auth, Token):
                named[type(auth).__name__] = [auth.scope.value]
        return found

    @override
    def get_components(self) -> dict[str, Any]:
        _, defined = models_json_schema([(Error, "serialization")], ref_template=_REF)
        self.schemas.update(defined["$defs"])
        return super().get_components()


def _refusals(operation: Operation) -> list[int]:
    """The statuses by which any operation of this kind may refuse."""
    sources = {model.__ninja_param_source__ for model in operation.models}
    found = [401, 403]
    if "path" in sources:
        found.append(404)
    if set(operation.methods) - {"GET"}:
        found.append(409)
    if "body" in sources:
        found += [400, 413]
    return sorted([*found, 422] if sources else found)


def _error(status: int) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": _REF.format(model=Error.__name__)}}}
    return {"description": HTTPStatus(status).phrase, "content": content}
