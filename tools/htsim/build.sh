#!/usr/bin/env bash
# Builds the dumbbell with a checkout of Broadcom/csg-htsim into the file given; README.md has the reason.
set -euo pipefail
usage="usage: tools/htsim/build.sh CSG_HTSIM_CHECKOUT OUTPUT"
sim=${1:?$usage}/sim
out=${2:?$usage}
[ -f "$sim/libhtsim.a" ] || make -C "$sim" libhtsim.a >/dev/null
exec g++ -O3 -std=c++11 -I "$sim" -o "$out" "$(dirname "$0")/dumbbell.cc" "$sim/libhtsim.a"
