#!/usr/bin/env bash
# Builds a release into out/release from this checkout: binaries, packages, image, checksums. See docs/reference/releases.md.
# usage: build.sh [packages], which stops after the packages
set -euo pipefail
cd "$(dirname "$0")/../.."
out=out/release
export CGO_ENABLED=0 GOFLAGS=-trimpath SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
nfpm() { go tool -modfile=tools/packages/go.mod nfpm "$@" >/dev/null; }

rm -rf "$out" && mkdir -p "$out"
go build -ldflags "-s -w" -o "$out/millrace" ./cmd/millrace
version=$("$out/millrace" version --short)
case $version in *modified*) echo "release: this checkout has changes that no commit has; the version says so: $version" >&2 ;; esac
for arch in amd64 arm64; do
  GOARCH=$arch go build -tags static -ldflags "-s -w" -o "$out/millrace-linux-$arch" ./cmd/millrace
done

go run ./tools/bom --binary "$out/millrace" --sbom "$out/millrace.cdx.json" --licences "$out/LICENCES"
for arch in amd64 arm64; do
  go run ./tools/bom --binary "$out/millrace-linux-$arch" --sbom "$out/millrace-linux-$arch.cdx.json"
done

export LICENCES=$out/LICENCES ARCH VERSION=${version/+/.} BINARY=$out/millrace STATIC ENGINE=$MILLRACE_LIBCHDB
ARCH=amd64 nfpm package -f deploy/packages/millrace.nfpm.yaml -p deb -t "$out"
for arch in amd64 arm64; do
  for name in millrace-agent millrace-pe-agent; do
    ARCH=$arch STATIC=$out/millrace-linux-$arch nfpm package -f "deploy/packages/$name.nfpm.yaml" -p deb -t "$out"
  done
done
if [ "${1:-}" = packages ]; then ls -l "$out"; exit; fi

ARCH=amd64 nfpm package -f deploy/packages/millrace-engine.nfpm.yaml -p deb -t "$out"
MILLRACE_BINARY=$out/millrace MILLRACE_STATIC=$out/millrace-linux-amd64 deploy/image/rootfs.sh out/image/rootfs
go run ./tools/image --root out/image/rootfs --output "$out/millrace-image-amd64.tar" --tag "millrace:${version/+/.}" \
  --date "$(git log -1 --format=%cI)" --commit "$(git rev-parse HEAD)" --version "$version"
awk '/^## /{n++} n==1' CHANGELOG.md > "$out/CHANGES.md"
rm "$out/millrace"
(cd "$out" && sha256sum -- * > SHA256SUMS)
ls -l "$out"
