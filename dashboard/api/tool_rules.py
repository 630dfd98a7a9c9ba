"""How tools are classed by their names: the operator's rules, then the tools of known agents."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import auth
from dashboard.models import ToolRule
from health.known_tools import DEFAULTS, VERSION
from health.risk import Risk, Rule

router = Router(tags=["policy"])


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
                }
            ]
        }
    )

    rules: list[NotedRule] = Field(description="Of the operator, in their order")
    defaults: KnownTools = Field(description="Where none of them fits")


@router.get("", auth=auth.READ, response=ToolRuleList, summary="List how tools are classed")
def list_tool_rules(request: HttpRequest) -> ToolRuleList:
    """The first rule that fits a name decides; what fits none is dangerous."""
    rules = [_noted(each.rule) for each in ToolRule.objects.in_order()]
    known = [KnownTool(**_noted(rule).model_dump(), agent=rule.agent) for rule in DEFAULTS]
    return ToolRuleList(rules=rules, defaults=KnownTools(version=VERSION, rules=known))


def _noted(rule: Rule) -> NotedRule:
    return NotedRule(pattern=rule.pattern, risk=rule.risk, note=rule.note)
