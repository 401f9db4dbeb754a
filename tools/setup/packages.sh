#!/usr/bin/env bash
# Installs the Debian packages Millrace builds, tests and demonstrates itself with.
# Only what is missing is installed; with nothing missing it needs no network.
set -euo pipefail

packages=(
  # the lab: routers, guest kernel, exporters, load
  frr user-mode-linux kmod iproute2 ethtool iputils-ping softflowd iperf3 nuttcp tcpdump procps
  # flow files; the browser that drives the dashboard; YANG validation
  nfdump chromium libyang2-tools
  # a real server for the tests of internal/store (an old one: 18.16)
  clickhouse-server
  # eBPF programs are compiled by this very clang, so that committed objects can be compared
  clang llvm libbpf-dev bpftool
  # the race detector needs cgo, and cgo a C compiler
  gcc libc6-dev
  # Kafka for the bus's tests
  openjdk-17-jre-headless maven
  # gNMI clients of other people, for the router agent's tests
  python3 python3-venv
  # promtool checks the alerts; a real Prometheus and Alertmanager run the queries of rules and boards
  prometheus prometheus-alertmanager
  curl ca-certificates
)

missing=()
for p in "${packages[@]}"; do
  # A tool that is there already, however it came, is used as it is.
  case $p in
    openjdk-17-jre-headless) command -v java >/dev/null && continue ;;
    maven) command -v mvn >/dev/null && continue ;;
  esac
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "setup: these packages are missing: ${missing[*]}" >&2
  echo "setup: run 'make setup' as root once, or install them yourself" >&2
  exit 1
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# No server that comes with a package is started: the tests start their own, and some would listen on all addresses.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >"${TMPDIR:-/tmp}/millrace-apt.log" 2>&1 || {
  tail -20 "${TMPDIR:-/tmp}/millrace-apt.log" >&2
  exit 1
}
# Nor are these at the next start of the machine.
if command -v systemctl >/dev/null; then
  for unit in prometheus prometheus-alertmanager; do
    [[ " ${missing[*]} " != *" $unit "* ]] || systemctl disable --quiet "$unit" 2>/dev/null || true
  done
fi
