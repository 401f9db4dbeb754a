#!/usr/bin/env bash
# Installs, upgrades, removes and purges the packages of out/release in a fresh Debian, in namespaces of its own.
# usage: test.sh ROOT, a folder that mmdebstrap filled (make packages-test)
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:?usage: test.sh ROOT}
if [ "${2:-}" != inside ]; then exec unshare --mount --pid --net --fork --kill-child "$0" "$root" inside; fi

ip link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mkdir -p "$root/packages" && mount --bind out/release "$root/packages"
fails=0
exec= # as_unit sets it, so that its process is the program itself
holds() { # WHAT COMMAND...
  local what=$1; shift
  if "$@" >/tmp/packages-test.log 2>&1; then echo "holds: $what"; else echo "FAILS: $what"; sed 's/^/    /' /tmp/packages-test.log; fails=$((fails + 1)); fi
}
not() { ! "$@"; }
in_root() { $exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
state() { in_root dpkg-query -W -f='${Status}' "$1"; }
deb() { basename "$(ls out/release/"$1"_*_amd64.deb)"; }

# With the capabilities, the user and the command of the unit; systemd itself does not run here.
as_unit() { # UNIT
  local unit="$root/lib/systemd/system/$1.service" user caps=-all
  user=$(sed -n 's/^User=//p' "$unit")
  for c in $(sed -n 's/^CapabilityBoundingSet=//p' "$unit"); do c=${c#CAP_}; caps+=",+${c,,}"; done
  exec=exec
  in_root setpriv --reuid="$user" --regid="$user" --init-groups --no-new-privs --inh-caps="$caps" --ambient-caps="$caps" --bounding-set="$caps" \
    $(sed -n 's/^ExecStart=//p' "$unit")
}
answers() { # PORT PATH: waits for an answer, at most a minute
  for _ in $(seq 120); do
    if exec 3<>"/dev/tcp/127.0.0.1/$1" 2>/dev/null; then
      if [ -z "${2:-}" ]; then exec 3>&-; return 0; fi
      printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
      grep -q millrace_build_info <&3 && return 0
    fi
    sleep 0.5
  done
  return 1
}

for p in millrace millrace-agent millrace-pe-agent; do
  holds "$p installs" in_root dpkg -i "/packages/$(deb "$p")"
  holds "systemd accepts the unit of $p" in_root systemd-analyze verify "/lib/systemd/system/$p.service"
  echo "       $(in_root systemd-analyze security --offline=true "/lib/systemd/system/$p.service" 2>/dev/null | tail -1)"
done
echo "what the checks of the router print:"; in_root /usr/lib/millrace-agent/check-router | sed 's/^/       /'; in_root /usr/lib/millrace-pe-agent/check-router | sed 's/^/       /'
holds "the control plane's configuration is complete" in_root millrace up --config /etc/millrace/millrace.yaml --check
holds "its user can write its folder" in_root setpriv --reuid=millrace --regid=millrace --clear-groups touch /var/lib/millrace/x

# The router agent, with a certificate of a CA made here.
d=$root/etc/millrace
(cd "$d" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=ca -days 2 &&
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout agent.key -out agent.crt -subj /CN=r1 -addext subjectAltName=IP:127.0.0.1 -days 2 -CA ca.crt -CAkey ca.key) >/dev/null 2>&1
in_root chgrp millrace-agent /etc/millrace/agent.key && chmod 640 "$d/agent.key"
sed 's/192.0.2.11/127.0.0.1/; s/^data_dir/frr_instance: none\ndata_dir/' "$root/usr/share/doc/millrace-agent/agent.yaml.example" > "$d/agent.yaml"
as_unit millrace-agent >/tmp/packages-agent.log 2>&1 & agent=$!
holds "the router agent starts as its unit has it, and serves metrics" answers 9340 /metrics
holds "it speaks gNMI's TLS" answers 9339
kill $agent; wait $agent 2>/dev/null || true
[ $fails = 0 ] || sed 's/^/    agent: /' /tmp/packages-agent.log
holds "its journal is its user's" in_root test -O /var/lib/millrace-agent -o -d /var/lib/millrace-agent

echo "# the operator's" >> "$d/millrace.yaml"
for p in millrace millrace-agent; do holds "$p is installed again over itself" in_root dpkg -i "/packages/$(deb "$p")"; done
holds "an upgrade keeps the configuration of the control plane" grep -q "the operator's" "$d/millrace.yaml"
holds "an upgrade keeps the agent's" grep -q 127.0.0.1:9339 "$d/agent.yaml"
for p in millrace millrace-agent millrace-pe-agent; do holds "$p is removed" in_root dpkg -r "$p"; done
holds "what was kept is still there" test -e "$root/var/lib/millrace/x" -a -d "$root/var/lib/millrace-agent" -a -e "$d/millrace.yaml" -a -e "$d/agent.yaml"
for p in millrace millrace-agent millrace-pe-agent; do holds "$p is purged" in_root dpkg -P "$p"; done
holds "nothing that the control plane kept is left" not test -e "$root/var/lib/millrace"
holds "nor the agent's" not test -e "$root/var/lib/millrace-agent"
holds "nor configuration" not test -e "$d/millrace.yaml" -o -e "$d/agent.yaml"
holds "nor users" not grep -q millrace "$root/etc/passwd"
echo "packages: $fails fail"
[ $fails = 0 ]
