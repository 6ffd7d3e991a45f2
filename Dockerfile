# The image of make image, for those who have a container engine:
#
#   docker build --build-arg VERSION="$(git describe --tags --match 'v*')" --build-arg REVISION="$(git rev-parse HEAD)" \
#     --build-arg CREATED="$(TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" .
#
# Its files, user, entry point and labels are those of make image. Its digest is not, since an engine adds the time of the build and
# the variable PATH. For the other architecture, add --platform linux/arm64: the compiler runs on that of the machine. Buildah
# 1.28 then also needs --build-arg BUILDPLATFORM=linux/amd64.
ARG GO_IMAGE=golang:1.26

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
ARG TARGETARCH
ARG VERSION
WORKDIR /src
COPY . .
RUN make image PLATFORMS="$TARGETARCH" VERSION="$VERSION"

FROM scratch
ARG TARGETARCH
ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="multicloud-controller-manager" \
      org.opencontainers.image.description="One cloud controller manager for several clouds" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="multicloud-ccm" \
      org.opencontainers.image.url="https://github.com/multicloud-ccm/multicloud-ccm" \
      org.opencontainers.image.source="https://github.com/multicloud-ccm/multicloud-ccm" \
      org.opencontainers.image.documentation="https://github.com/multicloud-ccm/multicloud-ccm/blob/main/README.md" \
      org.opencontainers.image.base.name="" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /src/bin/root/linux-${TARGETARCH}/etc /etc
COPY --from=build /src/bin/root/linux-${TARGETARCH}/licenses /licenses
COPY --from=build /src/bin/root/linux-${TARGETARCH}/multicloud-controller-manager /multicloud-controller-manager
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/multicloud-controller-manager"]
