#!/bin/sh
# Installs the pinned ClickHouse engine library into .cache/chdb (checksum from
# package-lock.json), where millrace and its tests look for libchdb.so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../.cache/chdb}
mkdir -p "$into"
# npm ci is skipped when what is there was installed from this very lock file.
if [ -e "$into/libchdb.so" ] && cmp -s "$here/package-lock.json" "$into/package-lock.json"; then
	exit 0
fi
cp "$here/package.json" "$here/package-lock.json" "$into/"
npm ci --prefix "$into" --ignore-scripts --no-audit --no-fund --loglevel=error
ln -sf node_modules/@chdb/lib-linux-x64-gnu/libchdb.so "$into/libchdb.so"
