"""All settings, from the environment. `.env.example` lists every variable."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

import workers.celery  # noqa: F401 -- every Django process sends its tasks through this app
from config.env import (
    env_bool,
    env_counts,
    env_database,
    env_duration,
    env_int,
    env_list,
    env_rate,
    env_secret,
    env_servers,
    env_str,
)
from config.logs import logging_config
from probes.egress_rules import parse_grants

BASE_DIR = Path(__file__).resolve().parent.parent

# Where this process may keep files: logs, generated keys, collected static files.
DATA_DIR = Path(env_str("DATA_DIR", default=str(BASE_DIR / "var")))

DEBUG = env_bool("DEBUG", default=False)
SECRET_KEY = env_secret("SECRET_KEY", default="debug-only" if DEBUG else None)

# AES-256 keys for stored credentials, base64, newest first: the first one encrypts, all decrypt.
try:
    CREDENTIAL_KEYS = [
        base64.b64decode(key, validate=True)
        for key in env_secret("CREDENTIAL_KEYS", default="").replace(",", " ").split()
    ]
except ValueError as exc:
    raise ImproperlyConfigured("CREDENTIAL_KEYS must be base64 of 32 bytes each.") from exc

# --- Address: how people reach the pages -------------------------------------------------------
PUBLIC_URL = env_str("PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(PUBLIC_URL)
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
if _public.scheme not in {"http", "https"} or not _public.hostname:
    raise ImproperlyConfigured(f"PUBLIC_URL must be an http(s) address, not {PUBLIC_URL!r}.")
SERVED_BY_HTTPS = _public.scheme == "https"
if not (SERVED_BY_HTTPS or DEBUG or _public.hostname in _LOOPBACK):
    raise ImproperlyConfigured("PUBLIC_URL must be https unless the host is this machine.")

ALLOWED_HOSTS = [_public.hostname, *env_list("ALLOWED_HOSTS")]
if _public.hostname in _LOOPBACK:
    ALLOWED_HOSTS += sorted(_LOOPBACK | {"[::1]"})
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# --- Django ------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "dashboard",
]
MIDDLEWARE = [
    "dashboard.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.middleware.RequestLog",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "dashboard.middleware.SessionActivity",
    "dashboard.middleware.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every view needs a signed-in person unless it declares otherwise.
    "dashboard.middleware.ViewGuards",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
LANGUAGE_CODE = "en"
# Pages use the browser's language or the chosen one; the API and notices are English.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Postgres and Redis ------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {
    "default": env_database("DATABASE_URL", default="postgresql://toolgauge@127.0.0.1/toolgauge")
}
# Web processes share connections between requests; workers fork and therefore must not.
if _pool := env_int("DATABASE_POOL_SIZE", default=0):
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": _pool, "timeout": 10}
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
REDIS_URL = env_secret("REDIS_URL", default="redis://127.0.0.1:6379/0")

# --- People ------------------------------------------------------------------------------------
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "fleet"
LOGOUT_REDIRECT_URL = "login"
PASSWORD_HASHERS = ["dashboard.accounts.hashing.QueuedArgon2Hasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTH_PASSWORD_VALIDATORS[1]["OPTIONS"] = {"min_length": 12}  # type: ignore[assignment]

# allauth stores second factors and links to providers; pages, URLs and rules are ours.
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# Roles that must have a second factor: viewer, operator, approver, administrator; comma-separated.
REQUIRE_SECOND_FACTOR = frozenset(env_list("REQUIRE_SECOND_FACTOR"))
if _unknown := REQUIRE_SECOND_FACTOR - {"viewer", "operator", "approver", "administrator"}:
    raise ImproperlyConfigured(f"REQUIRE_SECOND_FACTOR: {min(_unknown)!r} is not a role.")

# Sign-in by an OpenID Connect provider; off unless all three are set.
OIDC_ISSUER = env_str("OIDC_ISSUER", default="").rstrip("/")
OIDC_CLIENT_ID = env_str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env_secret("OIDC_CLIENT_SECRET", default="")
OIDC_NAME = env_str("OIDC_NAME", default="") or "OpenID Connect"
# The claim that holds the username: the first sign-in links that person.
# Without it, only people who linked their account themselves can sign in.
OIDC_USERNAME_CLAIM = env_str("OIDC_USERNAME_CLAIM", default="")
OIDC_CREATE_PEOPLE = env_bool("OIDC_CREATE_PEOPLE", default=False)
OIDC_ON = bool(OIDC_ISSUER and OIDC_CLIENT_ID and OIDC_CLIENT_SECRET)
if OIDC_ISSUER and not OIDC_ON:
    raise ImproperlyConfigured("OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.")
_issuer = urlsplit(OIDC_ISSUER)
if OIDC_ON and not (_issuer.scheme == "https" or _issuer.hostname in _LOOPBACK):
    raise ImproperlyConfigured("OIDC_ISSUER must be https unless the host is this machine.")
if OIDC_CREATE_PEOPLE and not OIDC_USERNAME_CLAIM:
    raise ImproperlyConfigured("OIDC_CREATE_PEOPLE needs OIDC_USERNAME_CLAIM: what to call them.")
SOCIALACCOUNT_ADAPTER = "dashboard.accounts.oidc.OidcAdapter"
SOCIALACCOUNT_STORE_TOKENS = False

# --- Cookies and headers -----------------------------------------------------------------------
_host_prefix = "__Host-" if SERVED_BY_HTTPS else ""
SESSION_COOKIE_NAME = f"{_host_prefix}session"
CSRF_COOKIE_NAME = f"{_host_prefix}csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SERVED_BY_HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "dashboard.core.error_views.csrf_failure_page"
SESSION_ENGINE = "dashboard.accounts.session_store"
# A session ends after this long without activity, and at the latest this long after sign-in.
SESSION_IDLE = env_duration("SESSION_IDLE", default="30m")
SESSION_AGE = env_duration("SESSION_AGE", default="12h")
SESSION_COOKIE_AGE = int(SESSION_AGE.total_seconds())
# How recent a sign-in or confirmation must be for changes of credentials and for decisions.
CONFIRMED_FOR = timedelta(minutes=15)
LANGUAGE_COOKIE_NAME = f"{_host_prefix}language"
# Marks a browser in which somebody has signed in before (dashboard.accounts.known_browsers).
BROWSER_COOKIE_NAME = f"{_host_prefix}browser"
LANGUAGE_COOKIE_SECURE = SERVED_BY_HTTPS
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 365 * 86400
SECURE_SSL_REDIRECT = SERVED_BY_HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # requested from inside, without TLS
SECURE_HSTS_SECONDS = 365 * 86400 if SERVED_BY_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SERVED_BY_HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The web process itself speaks plain HTTP, so a proxy in front of it handles TLS.
if env_bool("BEHIND_PROXY", default=SERVED_BY_HTTPS):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# The number of our own proxies in front of the web process: that many hops of X-Forwarded-For,
# counted from the end, are trusted; none at zero.
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", default=0, minimum=0)
# The largest request body; the API names the limit when it refuses one.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
# No inline script or style anywhere; pages load nothing from other hosts.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        # It applies to a form's redirect too, and signing in redirects to the provider.
        f"form-action 'self' {_issuer.scheme}://{_issuer.netloc}"
        if OIDC_ON
        else "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)

# --- Static files ------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env_str("STATIC_ROOT", default="") or DATA_DIR / "static")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = False
WHITENOISE_ALLOW_ALL_ORIGINS = False  # no other site needs them

# --- Logging -----------------------------------------------------------------------------------
LOG_FORMAT = env_str("LOG_FORMAT", default="json")
LOGGING_CONFIG = None  # structlog is set up once, below
LOGGING = logging_config(LOG_FORMAT, level=env_str("LOG_LEVEL", default="INFO"))

# --- Probing -----------------------------------------------------------------------------------
# The time limit of one probe call, including the whole reply.
PROBE_TIMEOUT = env_duration("PROBE_TIMEOUT", default="60s")
# The longest wait for the first byte, and between two bytes.
PROBE_IDLE_TIMEOUT = env_duration("PROBE_IDLE_TIMEOUT", default="30s")
# The most bytes read of one reply: whole, and as a stream, where each token has a frame.
PROBE_MAX_BYTES = env_int("PROBE_MAX_BYTES", default=1024 * 1024, minimum=1024)
PROBE_MAX_STREAM_BYTES = env_int("PROBE_MAX_STREAM_BYTES", default=4 * 1024 * 1024, minimum=1024)

# The time limit of the one request of “Try it”; a page waits for it.
TRY_TIMEOUT = env_duration("TRY_TIMEOUT", default="20s")

# A worker holds a run by a lease; if it stops renewing it, another worker can take the run.
RUN_LEASE = env_duration("RUN_LEASE", default="90s")
RUN_HEARTBEAT = env_duration("RUN_HEARTBEAT", default="20s")
if RUN_HEARTBEAT * 2 > RUN_LEASE:
    raise ImproperlyConfigured("RUN_HEARTBEAT must be at most half of RUN_LEASE.")
# The first wait before a run whose worker died is retried; it doubles each time.
RUN_RETRY_AFTER = env_duration("RUN_RETRY_AFTER", default="10s")
# After this long without a worker, the wake-up of a queued run is sent again.
RUN_RING_AGAIN = env_duration("RUN_RING_AGAIN", default="60s")
# How often the scheduler and every worker look for due endpoints and dead runs.
SCHEDULE_EVERY = env_duration("SCHEDULE_EVERY", default="15s")

# Concurrent runs per provider, and exceptions such as ollama=1,openai=16.
PROVIDER_RUNS = env_int("PROVIDER_RUNS", default=8, minimum=1)
PROVIDER_RUNS_EXCEPT = env_counts("PROVIDER_RUNS_EXCEPT")
# A new profile gets this many runs, this far apart, before its schedule applies.
BASELINE_RUNS = env_int("BASELINE_RUNS", default=20, minimum=1)
BASELINE_EVERY = env_duration("BASELINE_EVERY", default="7m")
# After a warning, the confirmation run starts after this.
CONFIRM_AFTER = env_duration("CONFIRM_AFTER", default="6m")

# Private addresses that probes and notices may reach, such as 10.0.0.0/8:8000 or [::1]:11434.
# If the pages are reachable only on this machine, its own servers may be probed.
EGRESS_GRANTS = env_str(
    "EGRESS_GRANTS", default="127.0.0.0/8 [::1]" if _public.hostname in _LOOPBACK else ""
)
try:
    parse_grants(EGRESS_GRANTS)
except ValueError as exc:
    raise ImproperlyConfigured(f"EGRESS_GRANTS: {exc}") from exc

# Our web servers and gateways as this process reaches them, such as web:8000. Like the database and
# the broker, they are never connected to, whatever is granted.
OWN_SERVERS = env_servers("OWN_SERVERS")

# A Bearer token that reads /metrics of all endpoints, beside API tokens with the scope read.
METRICS_TOKEN = env_secret("METRICS_TOKEN", default="")
# /metrics needs no token: it names every endpoint to everyone who can reach it.
METRICS_OPEN = env_bool("METRICS_OPEN", default=False)

# --- API: rates of requests and of telemetry per token; of failed authentication per address -----
API_RATE = env_rate("API_RATE", default="600/m")
API_TELEMETRY_RATE = env_rate("API_TELEMETRY_RATE", default="3000/m")
API_AUTH_FAILURES = env_rate("API_AUTH_FAILURES", default="60/m")

# --- Rollouts ----------------------------------------------------------------------------------
# The requester may not approve their own request. Turn it off only if there is just one person.
FOUR_EYES = env_bool("FOUR_EYES", default=True)
# A request without a decision expires after this.
REQUEST_EXPIRES = env_duration("REQUEST_EXPIRES", default="7d")

# --- Retention, in days; a partition is dropped once all its rows are older --------------------
KEEP_RAW_DAYS = env_int("KEEP_RAW_DAYS", default=14, minimum=1)
KEEP_EVIDENCE_DAYS = env_int("KEEP_EVIDENCE_DAYS", default=90, minimum=1)
KEEP_ATTEMPTS_DAYS = env_int("KEEP_ATTEMPTS_DAYS", default=400, minimum=1)
KEEP_5M_DAYS = env_int("KEEP_5M_DAYS", default=35, minimum=8)
KEEP_HOURS_DAYS = env_int("KEEP_HOURS_DAYS", default=400, minimum=8)

# The simulated vendors, for the demo fleet of the first start.
DEMO = env_bool("DEMO", default=True)
SIMULATOR_URL = env_str("SIMULATOR_URL", default="")
