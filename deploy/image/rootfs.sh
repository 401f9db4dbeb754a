#!/usr/bin/env bash
# Lays out the image's root file system in the folder given: what the binary and the ClickHouse engine load, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:?usage: rootfs.sh FOLDER}

rm -rf "$out"
mkdir -p "$out"/{usr/bin,usr/lib/millrace,usr/lib/millrace-agent,etc/millrace/policies,etc/ssl/certs,var/lib/millrace,tmp}
chmod 1777 "$out/tmp"
binary=${MILLRACE_BINARY:-bin/millrace}
cp "$binary" "$out/usr/bin/millrace"
# The agents run in a container of FRR's image, whose C library may be another one.
cp "${MILLRACE_STATIC:-bin/millrace-static}" "$out/usr/lib/millrace-agent/millrace"
cp "$MILLRACE_LIBCHDB" "$out/usr/lib/millrace/"
cp policies/*.yaml "$out/etc/millrace/policies/"
cp deploy/image/millrace.yaml "$out/etc/millrace/"
cp -L /etc/ssl/certs/ca-certificates.crt "$out/etc/ssl/certs/"

doc=$out/usr/share/doc/millrace
mkdir -p "$doc"
cp LICENSE "$doc/"
go run ./tools/bom --binary "$binary" --sbom "$doc/millrace.cdx.json" --licences "$doc/LICENCES"

# Shared objects, the loader among them, at the paths where the loader looks for them.
for object in "$binary" "$MILLRACE_LIBCHDB"; do
  for lib in $(ldd "$object" | grep -oE '/[^ )]+'); do
    cp -Ln --parents "$lib" "$out"
  done
done
# The engine finds these by name while it runs (name service, DNS).
for lib in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
  # To the end of the list: ldconfig fails where nobody reads it (pipefail).
  found=$(ldconfig -p | awk -v l="$lib" '$1 == l && /x86-64/ && !n++ { print $NF }')
  cp -Ln --parents "$found" "$out"
done
echo "hosts: files dns" > "$out/etc/nsswitch.conf"
echo "millrace:x:65532:65532:Millrace:/var/lib/millrace:/usr/sbin/nologin" > "$out/etc/passwd"
echo "millrace:x:65532:" > "$out/etc/group"
