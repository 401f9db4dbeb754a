#!/usr/bin/env bash
# Installs what a Kubernetes node needs of Debian: containerd, runc, the plugins of its network, nft for kube-proxy, and
# iptables and ipset for kube-router.
# None of it is started as a service.
set -euo pipefail

missing=()
for p in containerd runc containernetworking-plugins nftables iptables ipset; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
