# In place of the official image of NATS, where no registry is reached: nats-server alone, and a wget for health checks.
# Built by src/ensure-bases.ts, which puts beside this file: system/, the apt sources and certificate authorities of
# this host; rootfs/, the server, linked statically.
ARG DEBIAN=debian:12
FROM ${DEBIAN} AS busybox
COPY system/ /
RUN apt-get update && apt-get install -y --no-install-recommends busybox-static

FROM scratch
COPY rootfs/ /
COPY --from=busybox /bin/busybox /bin/wget
# Fails here, not at the first start, if it is not static.
RUN ["/bin/nats-server", "--version"]
EXPOSE 4222 8222
ENTRYPOINT ["/bin/nats-server"]
