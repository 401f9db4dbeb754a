#!/usr/bin/env bash
# Fetches the jars of a program of Java that tests run, as tools/NAME/pom.xml lists them, into .cache/NAME:
#
#   tools/setup/jars.sh kafka | zookeeper [FOLDER]
#
# Maven checks each file against its published checksum (-C).
set -euo pipefail
cd "$(dirname "$0")/../.."

name=$1
lib=${2:-$PWD/.cache/$name}
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
mvn -B -q -C -f "tools/$name/pom.xml" dependency:copy-dependencies \
  -DoutputDirectory="$partial" -DincludeScope=runtime >"$log" 2>&1 || {
  tail -20 "$log" >&2
  echo "setup: fetching $name failed; check that Maven reaches its repository" >&2
  exit 1
}
chmod 755 "$partial"
rm -rf "$lib"
mv "$partial" "$lib"
