#!/usr/bin/env bash
# Fetches the Kafka broker that internal/testkit/kafka runs (some 40 MB of jars) into .cache/kafka,
# or into the folder MILLRACE_KAFKA_LIB names. Maven checks each file against its published checksum (-C).
set -euo pipefail
cd "$(dirname "$0")/../.."

lib=${MILLRACE_KAFKA_LIB:-$PWD/.cache/kafka}
for tool in mvn java; do
  command -v "$tool" >/dev/null || {
    echo "setup: $tool is missing; run 'make setup' or 'apt-get install openjdk-17-jre-headless maven'" >&2
    exit 1
  }
done

# A fetch that was interrupted must not look complete, so the folder appears only when it is.
mkdir -p "$(dirname "$lib")"
partial=$(mktemp -d "$lib.XXXXXX")
log=$(mktemp)
trap 'rm -rf "$partial" "$log"' EXIT
mvn -B -q -C -f tools/kafka/pom.xml dependency:copy-dependencies \
  -DoutputDirectory="$partial" -DincludeScope=runtime >"$log" 2>&1 || {
  tail -20 "$log" >&2
  echo "setup: fetching Kafka failed; check that Maven reaches its repository" >&2
  exit 1
}
chmod 755 "$partial"
rm -rf "$lib"
mv "$partial" "$lib"
