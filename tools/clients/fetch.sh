#!/usr/bin/env bash
# Gets other projects' clients and servers for tests: those in Go as go.mod pins them, pygnmi, schemathesis
# and zeep as requirements.txt pins them, hashes included. They land in .cache/clients, or in the folder
# MILLRACE_CLIENTS.
set -euo pipefail
cd "$(dirname "$0")"
out=${MILLRACE_CLIENTS:-$PWD/../../.cache/clients}
mkdir -p "$out/bin"

# With the flags of the Makefile, so that what both need is compiled once.
CGO_ENABLED=0 go build -o "$out/bin/" tool

[ -x "$out/python/bin/python" ] || python3 -m venv "$out/python"
"$out/python/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.txt
