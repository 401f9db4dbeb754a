#!/usr/bin/env bash
# Prints the folder of a Go that is new enough, fetching the pinned one by checksum where there is none.
# Debian's own Go is too old to build Millrace, but knows how to fetch and verify the pinned toolchain,
# which Go publishes as a module.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=1.26.8
sum="h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="
minimum=1.26

new_enough() { [ "$(printf '%s\n' "$minimum" "$1" | sort -V | head -1)" = "$minimum" ]; }

for go in "$(command -v go || true)" /usr/local/go/bin/go "$PWD/.cache/go/bin/go"; do
  [ -x "$go" ] || continue
  found=$(GOTOOLCHAIN=local "$go" env GOVERSION | sed 's/^go//')
  if new_enough "$found"; then dirname "$go"; exit 0; fi
done

if [ ! -x /usr/lib/go-1.19/bin/go ]; then
  DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends golang-1.19-go golang-1.19-src >&2
fi
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
module="golang.org/toolchain@v0.0.1-go$version.linux-amd64"
answer=$(cd "$scratch" && GOMODCACHE="$scratch/mod" GOFLAGS=-mod=mod /usr/lib/go-1.19/bin/go mod download -json "$module")
grep -q "\"Sum\": \"$sum\"" <<<"$answer" || { echo "setup: checksum of Go $version is not $sum" >&2; exit 1; }
mkdir -p .cache && rm -rf .cache/go
cp -r "$scratch/mod/golang.org/toolchain@v0.0.1-go$version.linux-amd64" .cache/go
chmod -R u+w .cache/go && chmod +x .cache/go/bin/* .cache/go/pkg/tool/linux_amd64/*
echo "$PWD/.cache/go/bin"
