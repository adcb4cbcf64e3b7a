# In place of Node's official image, where no registry is reached. Built by src/ensure-bases.ts, which puts beside this
# file: system/, the apt sources and certificate authorities of this host; rootfs/, Node.js and npm from their npm packages.
ARG DEBIAN=debian:12
FROM ${DEBIAN}
ENV LANG=C.UTF-8 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY system/ /
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY rootfs/ /
CMD ["node"]
