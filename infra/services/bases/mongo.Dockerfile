# In place of the official image of MongoDB, where no registry is reached: the stand-in for trying and testing
# (infra/mongo). Built by src/ensure-bases.ts, which puts beside this file: system/, the apt sources and certificate
# authorities of this host; rootfs/, the stand-in and the command that runs it.
ARG DEBIAN=debian:12
FROM ${DEBIAN}
COPY system/ /
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY rootfs/ /
RUN install -d -o 10001 -g 10001 -m 0700 /data/db
USER 10001:10001
EXPOSE 27017
CMD ["mongo-stand-in"]
