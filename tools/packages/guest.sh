# A Debian with its own systemd in namespaces: sourced by test.sh. All ends with the script.

# boot ROOT ENGINE: afterwards in_root runs a command there, and $log is a file for what it prints.
boot() {
  local root=$1 engine=$2
  log=$(mktemp)
  group=/sys/fs/cgroup$([ -e /sys/fs/cgroup/cgroup.procs ] || echo /unified)/millrace-packages-$$
  mkdir "$group"
  # Services that would set the kernel, which is the host's, or read its terminals.
  for unit in systemd-sysctl.service systemd-modules-load.service systemd-remount-fs.service sys-kernel-debug.mount sys-kernel-tracing.mount \
    console-getty.service getty.target getty-static.service; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
  mkdir -p "$root/packages"
  # The group of init is the root of its cgroup namespace.
  (echo "$BASHPID" > "$group/cgroup.procs" && exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash -c "$init" init "$root" "$engine") &
  outer=$!
  trap end EXIT
  for _ in $(seq 600); do
    pid=$(pgrep --parent "$outer") && [ "$(in_root systemctl is-system-running 2>/dev/null)" = running ] && return
    kill -0 "$outer" 2>/dev/null || break
    sleep 0.2
  done
  echo "packages: systemd did not boot: $(in_root systemctl list-units --failed --no-legend 2>&1)" >&2
  return 1
}

# What the first process does before it is systemd.
init='set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/run"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t bpf bpf "$1/sys/fs/bpf"
mount --bind out/release "$1/packages"
touch "$1/usr/lib/libchdb.so"
mount --bind "$2" "$1/usr/lib/libchdb.so"
ip link set lo up
for n in 1 2; do ip link add "eth$n" type veth peer name "far$n"; ip link set "eth$n" up; ip link set "far$n" up; done
ip address add 192.0.2.1/24 dev eth1
exec chroot "$1" /usr/bin/env -i container=millrace PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=null'

in_root() {
  nsenter --target "$pid" --mount --pid --net --uts --ipc --cgroup --root --wdns=/ /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

end() {
  kill -KILL "$outer" 2>/dev/null || true
  wait "$outer" 2>/dev/null || true
  for _ in $(seq 100); do # its processes are ending
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [ -d "$group" ] || break
    sleep 0.1
  done
  rm -f "$log" "$log.before"
}
