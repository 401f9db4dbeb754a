#!/usr/bin/env bash
# Builds a Kubernetes node's programs from Go modules into .cache/k8s/bin, or into the folder MILLRACE_K8S names: no package
# has them. What is there is not built again; go.mod pins the versions. The API server alone takes minutes.
set -euo pipefail
cd "$(dirname "$0")"
out=${MILLRACE_K8S:-$PWD/../../.cache/k8s}
mkdir -p "$out/bin"
out=$(cd "$out" && pwd)
export GOFLAGS=-trimpath CGO_ENABLED=0

# build MODULE PACKAGE [FLAGS OF THE LINKER]
build() {
  local program=${2##*/} pin
  [ "$1" = etcd ] && program=etcd
  pin=$(sha256sum "$1/go.mod" | cut -c1-16)
  [ -x "$out/bin/$program" ] && [ "$(cat "$out/$program.pin" 2>/dev/null)" = "$pin" ] && return
  echo "setup: $program"
  (cd "$1" && go build -ldflags "-s -w ${3:-}" -o "$out/bin/$program" "$2")
  echo "$pin" >"$out/$program.pin"
}

version=k8s.io/component-base/version
for p in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet; do
  build kubernetes k8s.io/kubernetes/cmd/$p "-X $version.gitVersion=v1.34.2 -X $version.gitMajor=1 -X $version.gitMinor=34"
done
build etcd go.etcd.io/etcd/server/v3
build coredns github.com/coredns/coredns
build kube-router github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
build metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server
build kube-score github.com/zegl/kube-score/cmd/kube-score
go build -ldflags "-s -w" -o "$out/bin/pause" ./pause
