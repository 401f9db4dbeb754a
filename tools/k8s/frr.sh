#!/usr/bin/env bash
# Lays out Debian's FRR as a root file system in .cache/k8s/frr.tar, or in the folder MILLRACE_K8S names: the image in which
# agents on nodes run. What is there is not fetched again.
set -euo pipefail
out=${MILLRACE_K8S:-$(dirname "$0")/../../.cache/k8s}/frr.tar
[ -s "$out" ] && exit 0
echo "setup: FRR's image"
command -v mmdebstrap >/dev/null || apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
mmdebstrap --quiet --variant=minbase --include=frr bookworm "$out.part.tar"
mv "$out.part.tar" "$out"
