"""The HTTP API: authentication, errors, idempotency, paging, the OpenAPI document."""
