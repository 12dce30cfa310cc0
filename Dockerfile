# Stormring in two images; both run any of its commands, as user 10001.
#
#   docker build --target stormring -t stormring .           Go topologies
#   docker build --target stormring-python -t stormring-python .
#                                              and components written in Python
#
# Where the default bases cannot be pulled, name others: GO_IMAGE needs Go 1.26
# in PATH, PYTHON_IMAGE Python 3.
ARG GO_IMAGE=golang:1.26
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The folders are made here since a scratch image has no shell for it; /tmp lies
# in another, since only the content of what is copied keeps its mode.
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/bin/stormring ./cmd/stormring \
    && ln -s stormring /out/bin/storm \
    && mkdir -p /out/data /out/shared /out/system/etc \
    && mkdir -m 1777 /out/system/tmp \
    && printf 'stormring:x:10001:10001::/data:/sbin/nologin\n' >/out/system/etc/passwd \
    && printf 'stormring:x:10001:\n' >/out/system/etc/group

FROM scratch AS stormring
COPY --from=build /out/system/ /
COPY --from=build /out/bin/ /usr/local/bin/
COPY packaging/docker/storm.yaml /etc/stormring/
COPY --from=build --chown=10001:10001 /out/data /data
COPY --from=build --chown=10001:10001 /out/shared /shared
ENV PATH=/usr/local/bin HOME=/data STORM_CONF_DIR=/etc/stormring
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 6627 6628 6700-6703
ENTRYPOINT ["/usr/local/bin/stormring"]
CMD ["help"]

FROM ${PYTHON_IMAGE} AS stormring-python
COPY --from=build /out/bin/ /usr/local/bin/
COPY packaging/docker/storm.yaml /etc/stormring/
COPY --from=build --chown=10001:10001 /out/data /data
COPY --from=build --chown=10001:10001 /out/shared /shared
ENV PATH=/usr/local/bin:/usr/bin:/bin HOME=/data STORM_CONF_DIR=/etc/stormring
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 6627 6628 6700-6703
ENTRYPOINT ["/usr/local/bin/stormring"]
CMD ["help"]

# What is built if no target is named.
FROM stormring
