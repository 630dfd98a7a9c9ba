"""API of tool classes: the operator's rules, then the tools of known agents."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.paging import Above
from dashboard.models import ToolRule
from health.known_tools import DEFAULTS, VERSION
from health.risk import Risk, RiskRule

router = Router(tags=["policy"])
_MAX_POSITION = 2**31


class NotedRule(BaseModel):
    pattern: str = Field(description="`*` is any text, `?` any character; letters of any case")
    risk: Risk
    note: str


class KnownTool(NotedRule):
    agent: str = Field(description="Whose tool it is")


class KnownTools(BaseModel):
    version: str = Field(description="What a policy names under risk.defaults")
    rules: list[KnownTool]


class ToolRuleList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "rules": [{"pattern": "mcp__docs__*", "risk": "read", "note": "Our manual"}],
                    "defaults": {
                        "version": "v1",
                        "rules": [
                            {"pattern": "Bash", "risk": "dangerous", "note": "", "agent": "Claude"}
                        ],
                    },
                    "next_cursor": None,
                }
            ]
        }
    )

    rules: list[NotedRule] = Field(description="Of the operator, in their order")
    defaults: KnownTools = Field(description="Where none of them fits")
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get("", auth=auth.READ, response=ToolRuleList, summary="List how tools are classed")
def list_tool_rules(
    request: HttpRequest,
    cursor: Above = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="The most on a page")] = 500,
) -> ToolRuleList:
    """The first rule that fits a name decides; what fits none is dangerous."""
    # The cursor is a position, because rules are listed in an order that people change.
    position = min(cursor, _MAX_POSITION)
    page = list(ToolRule.objects.in_order()[position : position + limit + 1])
    rules = [_rule_out(row.rule) for row in page[:limit]]
    next_cursor = position + limit if len(page) > limit else None
    known = [KnownTool(**_rule_out(rule).model_dump(), agent=rule.agent) for rule in DEFAULTS]
    defaults = KnownTools(version=VERSION, rules=known)
    return ToolRuleList(rules=rules, defaults=defaults, next_cursor=next_cursor)


def _rule_out(rule: RiskRule) -> NotedRule:
    return NotedRule(pattern=rule.pattern, risk=rule.risk, note=rule.note)
