# One image for web, worker, beat and migrate; docker-compose.yml picks the command.
# docs/operations.md says how to pin the base image to a digest.
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /opt/venv
COPY requirements/bootstrap.txt requirements/base.txt /tmp/
# setuptools installs the project below; uv is for ./run only.
RUN /opt/venv/bin/pip install --require-hashes -r /tmp/bootstrap.txt -r /tmp/base.txt \
    && /opt/venv/bin/pip uninstall --yes uv

FROM ${PYTHON_IMAGE}
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=config.settings \
    STATIC_ROOT=/app/staticfiles \
    DATA_DIR=/tmp/toolgauge
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin toolgauge
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY . .
# The `toolgauge` command, and the version that pages show.
RUN pip install --no-deps --no-index --no-build-isolation --editable .
# Containers cannot write to the image: without this, every health check would compile what it imports.
RUN python -m compileall -q /app
# The key signs nothing here: settings want one, and this step only copies and hashes files.
RUN SECRET_KEY=only-for-the-build python manage.py collectstatic --no-input
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python", "-m", "launcher.healthcheck", "8000"]
CMD ["python", "-m", "uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--no-proxy-headers", "--no-access-log", "--no-server-header", "--lifespan", "off", \
     "--timeout-graceful-shutdown", "20"]
