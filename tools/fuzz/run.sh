#!/usr/bin/env bash
# run.sh FOLDER HOURS: runs every fuzz target below FOLDER for an equal part of HOURS, one after the other, on one core.
# An input that reaches new code is made smaller in 100 tries: by default Go takes a minute of the target's time for it.
# Exit status 1 where one found something; Go then keeps the input in testdata/fuzz beside the target: commit it as a test.
set -euo pipefail
folder=$1 hours=$2
targets=$(grep -rH --include='*_test.go' -o '^func Fuzz[A-Za-z0-9]*' "$folder" | sed 's/:func /:/' | sort)
each=$(awk -v h="$hours" -v n="$(wc -l <<<"$targets")" 'BEGIN { s = int(h * 3600 / n); if (s < 1) s = 1; print s }')
found=0
for target in $targets; do
  package=./$(dirname "${target%%:*}") name=${target##*:}
  echo "fuzz: $name of $package for $each s"
  nice -n 10 go test -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -fuzzminimizetime 100x -parallel 1 "$package" || found=1
done
exit $found
