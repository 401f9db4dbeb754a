#!/usr/bin/env bash
# Boots a fresh Debian with its own systemd in namespaces, and there installs, starts, upgrades, backs up, restores, removes and
# purges the packages of out/release.
# usage: test.sh ROOT ENGINE: a folder that mmdebstrap filled, and libchdb.so (make packages-test)
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:?usage: test.sh ROOT ENGINE} engine=${2:?usage: test.sh ROOT ENGINE}
. tools/packages/guest.sh
boot "$root" "$engine"

fails=0
holds() { # WHAT COMMAND...
  local what=$1; shift
  mv "$log" "$log.before" 2>/dev/null || true
  if "$@" >"$log" 2>&1; then echo "holds: $what"; else echo "FAILS: $what"; sed 's/^/    /' "$log"; fails=$((fails + 1)); fi
}
not() { ! "$@"; }
said() { grep -q -- "$1" "$log.before" || { cat "$log.before"; return 1; }; } # what the command before printed
deb() { echo "/packages/$(basename "$(ls out/release/"$1"_*_amd64.deb)")"; }
all="millrace millrace-agent millrace-pe-agent"

# A unit that starts and ends again is found by its port, and by the process that is the same after it answered.
answers() { # PORT [PATH]: waits for an answer, at most a minute
  in_root timeout 60 bash -c 'until exec 3<>"/dev/tcp/127.0.0.1/$0"; do sleep 0.2; done 2>/dev/null
    [ -z "$1" ] || { printf "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" "$1" >&3; head -1 <&3 | grep -q " 200 "; }' "$1" "${2:-}"
}
runs() { in_root systemctl is-active --quiet "$1" || { in_root journalctl --no-pager --lines 20 --unit "$1"; return 1; }; }
process() { in_root systemctl show --property MainPID --value "$1"; }

for p in $all; do
  holds "$p installs" in_root dpkg -i "$(deb "$p")"
  holds "systemd accepts the unit of $p" in_root systemd-analyze verify "/lib/systemd/system/$p.service"
  echo "       $(in_root systemd-analyze security --offline=true "/lib/systemd/system/$p.service" 2>/dev/null | tail -1)"
done
echo "what the checks of the router print:"; in_root /usr/lib/millrace-agent/check-router | sed 's/^/       /'; in_root /usr/lib/millrace-pe-agent/check-router | sed 's/^/       /'

# The control plane as the package configures it; the router agent with a certificate of a CA made here; the PE agent with ports.
holds "the control plane is enabled" in_root systemctl enable --now millrace
holds "it answers" answers 8080 /healthz
d=$root/etc/millrace
(cd "$d" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=ca -days 2 &&
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout agent.key -out agent.crt -subj /CN=r1 -addext subjectAltName=IP:127.0.0.1 -days 2 -CA ca.crt -CAkey ca.key) >/dev/null 2>&1
in_root chgrp millrace-agent /etc/millrace/agent.key && chmod 640 "$d/agent.key"
sed 's/192.0.2.11/127.0.0.1/; s/^data_dir/frr_instance: none\ndata_dir/' "$root/usr/share/doc/millrace-agent/agent.yaml.example" > "$d/agent.yaml"
holds "the router agent is enabled" in_root systemctl enable --now millrace-agent
holds "it serves metrics" answers 9340 /metrics
holds "it speaks gNMI's TLS" answers 9339
echo '1 00112233445566778899aabbccddeeff' > "$d/pe.keys" && chmod 600 "$d/pe.keys"
echo '{}' > "$d/vpn-weights.yaml"
sed 's/, vrf: red//' "$root/usr/share/doc/millrace-pe-agent/pe.yaml.example" > "$d/pe.yaml"
holds "the PE agent is enabled" in_root systemctl enable --now millrace-pe-agent
holds "it answers" answers 4756
for p in $all; do holds "$p runs" runs "$p"; done

holds "another restart of the PE agent" in_root systemctl restart millrace-pe-agent
strangers() { in_root find /var/lib/millrace ! -user millrace | grep .; }
holds "what the control plane keeps is still its own" not strangers

# docs/how-to/back-up-and-restore.md, line by line.
in_root systemctl stop millrace
in_root install -d -o millrace -m 0700 /var/backups/millrace
holds "a backup by root is refused" not in_root millrace backup --config /etc/millrace/millrace.yaml /var/backups/millrace/root
holds "and told how to" said 'runuser -u millrace'
holds "a backup" in_root runuser -u millrace -- millrace backup --config /etc/millrace/millrace.yaml /var/backups/millrace/1
in_root rm -r /var/lib/millrace/etcd /var/lib/millrace/clickhouse
holds "a restore" in_root runuser -u millrace -- millrace restore --config /etc/millrace/millrace.yaml /var/backups/millrace/1
holds "the control plane starts with it" in_root systemctl start millrace
holds "and answers" answers 8080 /healthz

echo "# the operator's" >> "$d/millrace.yaml"
for p in $all; do
  before=$(process "$p")
  holds "$p is installed again over itself" in_root dpkg -i "$(deb "$p")"
  holds "and started anew" test "$(process "$p")" != "$before"
done
holds "an upgrade keeps the configuration of the control plane" grep -q "the operator's" "$d/millrace.yaml"
holds "an upgrade keeps the agent's" grep -q 127.0.0.1:9339 "$d/agent.yaml"
holds "the control plane answers" answers 8080 /healthz
echo "puhs: {}" >> "$d/millrace.yaml"
before=$(process millrace)
holds "an upgrade with a configuration that it refuses ends well" in_root dpkg -i "$(deb millrace)"
holds "and says so" said puhs
holds "the former process goes on" test "$(process millrace)" = "$before" -a "$before" != 0
sed -i '/puhs/d' "$d/millrace.yaml"

for p in $all; do
  holds "$p is removed" in_root dpkg -r "$p"
  holds "and does not run" not in_root systemctl is-active --quiet "$p"
done
holds "what was kept is still there" test -d "$root/var/lib/millrace/etcd" -a -d "$root/var/lib/millrace-agent" -a -d "$root/var/lib/millrace-pe-agent" -a -e "$d/millrace.yaml" -a -e "$d/agent.yaml"
for p in $all; do holds "$p is purged" in_root dpkg -P "$p"; done
for kept in millrace millrace-agent millrace-pe-agent; do holds "nothing of /var/lib/$kept is left" not test -e "$root/var/lib/$kept"; done
holds "nor configuration" not test -e "$d/millrace.yaml" -o -e "$d/agent.yaml" -o -e "$d/pe.yaml"
holds "nor users" not grep -q millrace "$root/etc/passwd"
echo "packages: $fails fail"
[ $fails = 0 ]
