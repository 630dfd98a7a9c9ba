"""The allowed services of Apprise, by URL scheme.

This is an allowlist: other services of Apprise start programs, open windows on the host, read
files that a URL names, or use protocols other than HTTPS and SMTP. Read the source of a service
before adding it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Service:
    """The plugin of Apprise. `shows_host` is false if the host part of its URL is a token."""

    module: str
    name: str
    shows_host: bool = False


_EMAIL = Service("email.base", "NotifyEmail", shows_host=True)
_FORM = Service("custom_form", "NotifyForm", shows_host=True)
_GOTIFY = Service("gotify", "NotifyGotify", shows_host=True)
_JSON = Service("custom_json", "NotifyJSON", shows_host=True)
_MATRIX = Service("matrix.base", "NotifyMatrix", shows_host=True)
_MATTERMOST = Service("mattermost", "NotifyMattermost", shows_host=True)
_NTFY = Service("ntfy", "NotifyNtfy")
_ROCKET = Service("rocketchat", "NotifyRocketChat", shows_host=True)
_SPLUNK = Service("splunk", "NotifySplunk")
_WEBEX = Service("webexteams", "NotifyWebexTeams")
_WORKFLOWS = Service("workflows", "NotifyWorkflows")  # Microsoft Teams
_XML = Service("custom_xml", "NotifyXML", shows_host=True)

SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        "dingtalk": Service("dingtalk", "NotifyDingTalk"),
        "discord": Service("discord", "NotifyDiscord"),
        "feishu": Service("feishu", "NotifyFeishu"),
        "form": _FORM,
        "forms": _FORM,
        "gchat": Service("google_chat", "NotifyGoogleChat"),
        "gotify": _GOTIFY,
        "gotifys": _GOTIFY,
        "json": _JSON,
        "jsons": _JSON,
        "lark": Service("lark", "NotifyLark"),
        "mailto": _EMAIL,
        "mailtos": _EMAIL,
        "matrix": _MATRIX,
        "matrixs": _MATRIX,
        "mmost": _MATTERMOST,
        "mmosts": _MATTERMOST,
        "ntfy": _NTFY,
        "ntfys": _NTFY,
        "opsgenie": Service("opsgenie", "NotifyOpsgenie"),
        "pagerduty": Service("pagerduty", "NotifyPagerDuty"),
        "pbul": Service("pushbullet", "NotifyPushBullet"),
        "pover": Service("pushover", "NotifyPushover"),
        "rocket": _ROCKET,
        "rockets": _ROCKET,
        "signl4": Service("signl4", "NotifySIGNL4"),
        "slack": Service("slack", "NotifySlack"),
        "sns": Service("sns", "NotifySNS"),
        "splunk": _SPLUNK,
        "tgram": Service("telegram", "NotifyTelegram"),
        "twilio": Service("twilio", "NotifyTwilio"),
        "victorops": _SPLUNK,
        "webex": _WEBEX,
        "wecombot": Service("wecombot", "NotifyWeComBot"),
        "workflow": _WORKFLOWS,
        "workflows": _WORKFLOWS,
        "wxteams": _WEBEX,
        "xml": _XML,
        "xmls": _XML,
        "zulip": Service("zulip", "NotifyZulip"),
    }
)
