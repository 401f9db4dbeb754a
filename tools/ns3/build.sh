#!/usr/bin/env bash
# Builds the dumbbell with Debian's ns-3 into the file given; README.md has the reason.
# The .pc files also name a library that is not needed, so the modules are listed here.
set -euo pipefail
out=${1:?usage: tools/ns3/build.sh OUTPUT}
exec g++ -O2 -std=c++17 -o "$out" "$(dirname "$0")/dumbbell.cc" \
  -lns3-core -lns3-network -lns3-internet -lns3-point-to-point -lns3-applications -lns3-stats -lns3-traffic-control
