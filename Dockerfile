# The whole service as an image: for tests and development (docs/container.md), and with `serve` for
# production on one machine (docs/one-machine.md). Build it in the repository's root, with Docker,
# Podman or Buildah:
#
#   docker build -t postfinch/postfinch .
#   docker run -p 127.0.0.1:8080:8080 -p 127.0.0.1:2525:2525 postfinch/postfinch
#
# In place of Mailpit's image (docs/mailpit.md) it has the same ports, 1025 and 8025, and the command
# /mailpit.
#
# Base: any image with Python 3.11 and pip. Nothing here depends on the processor's architecture: all
# packages have wheels for amd64 and arm64.
ARG BASE=docker.io/library/python:3.11-slim

# Packages and code, compiled: the file system of the running container may be read-only.
FROM ${BASE} AS packages
ARG PIP_INDEX_URL
ARG PIP_NO_INDEX
ARG PIP_FIND_LINKS
WORKDIR /build
COPY requirements.txt requirements-local.txt ./
COPY relay/requirements.txt relay/
RUN python3 -m pip install --no-cache-dir --no-compile --disable-pip-version-check \
      --target /opt/postfinch -r requirements-local.txt
# boto3 brings the descriptions of some 400 services; what stays is what the service calls.
RUN cd /opt/postfinch/botocore/data \
 && for each in */; do \
      case $each in cloudformation/|dynamodb/|kms/|s3/|sesv2/|sqs/|sts/) ;; *) rm -r "$each" ;; esac; \
    done
# What nothing here runs: the packages that Chalice's own command needs, and Pillow's parts for AVIF,
# fonts and colour profiles.
RUN cd /opt/postfinch \
 && rm -r pip setuptools wheel _distutils_hack blessed wcwidth \
      PIL/_avif.* PIL/_imagingcms.* PIL/_imagingft.* PIL/_imagingtk.* \
 && rm -f pillow.libs/libavif-* pillow.libs/libbrotli* pillow.libs/libfreetype-* \
      pillow.libs/libharfbuzz-* pillow.libs/liblcms2-*
COPY app.py /opt/postfinch/
COPY chalicelib /opt/postfinch/chalicelib
COPY console /opt/postfinch/console
COPY infrastructure /opt/postfinch/infrastructure
COPY outbound /opt/postfinch/outbound
COPY postfinch /opt/postfinch/postfinch
COPY relay /opt/postfinch/relay
RUN python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/postfinch \
 && mkdir -p /opt/postfinch/bin /opt/postfinch/bin-after-others \
 && for each in bin/postfinch:container bin/mailpit:mailpit.command \
      bin-after-others/wget:mailpit.wget; do \
      printf '%s\n' '#!/bin/sh' "exec python3 -m infrastructure.local.${each#*:} \"\$@\"" \
        > "/opt/postfinch/${each%:*}"; \
    done \
 && chmod 755 /opt/postfinch/bin*/*

FROM ${BASE}
LABEL org.opencontainers.image.title="Postfinch" \
      org.opencontainers.image.description="Email delivery service: HTTP API, SMTP relay, console" \
      org.opencontainers.image.licenses="MIT"
COPY --from=packages /opt/postfinch /opt/postfinch
# Any user may make files in the volume; those of the service are readable by their owner only.
RUN mkdir -m 1777 /data && ln -s /opt/postfinch/bin/mailpit /mailpit
# API_HOST and what follows are for `run`; infrastructure/machine/container.py has the ports of `serve`.
# The ports are published by a mapping, which decides who reaches them; web pages of other sites are
# refused in any case (LOCAL_PEERS, LOCAL_NAMES; the star is for the names of services in Compose).
ENV PATH=/opt/postfinch/bin:$PATH:/opt/postfinch/bin-after-others PYTHONPATH=/opt/postfinch \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 \
    DATA_DIR=/data LOG_OUTPUT=stdout \
    API_HOST=0.0.0.0 \
    API_PORT=8080 SMTP_PORT=2525 API_TLS_PORT=8443 SMTP_TLS_PORT=2465 \
    LOCAL_PEERS=any LOCAL_NAMES=postfinch,host.docker.internal,*
WORKDIR /opt/postfinch
USER 10001:10001
EXPOSE 8080 8443 2525 2465 2526 2587 1025 8025 1110 1143
VOLUME /data
# Where the engine knows --start-interval (Docker 25, Podman 5), one second there is a good choice.
HEALTHCHECK --interval=3s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python3", "-m", "infrastructure.local.health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["postfinch"]
CMD ["run"]
