"""Celery's settings, read when the app is first used."""

from __future__ import annotations

from django.conf import settings

from workers.beat_schedule import BEAT

broker_url = settings.REDIS_URL
# A broker that is gone, or that refuses to write because its disk is full, is waited for.
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_channel_error_retry = True
broker_transport_options = {
    "visibility_timeout": 300,
    "health_check_interval": 25,
    "socket_keepalive": True,
    "socket_timeout": 30,
    "socket_connect_timeout": 5,
}
task_serializer = "json"
accept_content = ["json"]
timezone = "UTC"

# No result backend: results of runs are in Postgres.
task_ignore_result = True
task_store_errors_even_if_ignored = False

# The lease of a dead worker expires and the reaper queues the run again. Redelivery by the broker
# would only send a second wake-up, and a task that crashes its process must not loop.
task_acks_late = True
task_reject_on_worker_lost = False
worker_prefetch_multiplier = 1

# Longer than any suite may take; the lease and the deadlines of the suite end it much earlier.
task_time_limit = 3600
# In kilobytes, compared after each task with the most that the process ever used. Hostile replies
# bring a process to 220 MB at the default limits: one that used more than this, by raised limits or
# a leak, is replaced before the next task.
worker_max_memory_per_child = 350_000
worker_soft_shutdown_timeout = 25.0
worker_enable_soft_shutdown_on_idle = False
worker_send_task_events = False
worker_cancel_long_running_tasks_on_connection_loss = False

beat_schedule = BEAT
beat_scheduler = "workers.scheduler:PulseScheduler"
