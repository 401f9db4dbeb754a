#!/usr/bin/env bash
# Fetches Keycloak (160 MB) into .cache/keycloak, for `make keycloak`. Maven checks it against its published checksum (-C).
set -euo pipefail
cd "$(dirname "$0")/../.."

version=26.4.5
folder=.cache/keycloak
[ -x "$folder/keycloak-$version/bin/kc.sh" ] && exit 0

# A fetch that was interrupted must not look complete, so the folder appears only when it is.
mkdir -p .cache
partial=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$partial"' EXIT
mvn -B -q -C org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack \
  -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:zip" -DoutputDirectory="$PWD/$partial"
chmod 755 "$partial"
rm -rf "$folder"
mv "$partial" "$folder"
