"""Every page and every part of one: the addresses of each room."""

from __future__ import annotations

from dashboard.accounts import urls as accounts
from dashboard.audit import urls as audit
from dashboard.charts import urls as charts
from dashboard.compare import urls as compare
from dashboard.core import urls as core
from dashboard.demo import urls as demo
from dashboard.endpoints import urls as endpoints
from dashboard.fleet import urls as fleet
from dashboard.incidents import urls as incidents
from dashboard.notifications import urls as notifications
from dashboard.people import urls as people
from dashboard.policy import urls as policy
from dashboard.rollouts import urls as rollouts
from dashboard.runs import urls as runs
from dashboard.system import urls as system

urlpatterns = [
    *fleet.urlpatterns,
    *charts.urlpatterns,
    *endpoints.urlpatterns,
    *runs.urlpatterns,
    *policy.urlpatterns,
    *rollouts.urlpatterns,
    *incidents.urlpatterns,
    *audit.urlpatterns,
    *compare.urlpatterns,
    *system.urlpatterns,
    *accounts.urlpatterns,
    *people.urlpatterns,
    *demo.urlpatterns,
    *notifications.urlpatterns,
    *core.urlpatterns,
]
