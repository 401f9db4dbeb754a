#!/usr/bin/env bash
# Builds Jaeger, an OpenTelemetry collector with a store of traces, from its module into .cache/jaeger, for `make jaeger`.
# go.mod pins the version. It takes minutes: a thousand packages of other people.
set -euo pipefail
cd "$(dirname "$0")"
out=$PWD/../../.cache/jaeger
pin=$(sha256sum go.mod | cut -c1-16)
[ -x "$out/jaeger" ] && [ "$(cat "$out/pin" 2>/dev/null)" = "$pin" ] && exit 0
echo "setup: Jaeger"
mkdir -p "$out"
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out/jaeger" github.com/jaegertracing/jaeger/cmd/jaeger
echo "$pin" >"$out/pin"
