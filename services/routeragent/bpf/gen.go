// Package bpf holds the compiled classifier programs.
//
// In: classifier.c and its headers: maps.h (what is shared with user space),
// parse.h (find the IP header), match.h (find the rule), police.h (token
// buckets), circuit.h (Ethernet circuits), pathset.h (which path of a set). Out: typed loaders
// of programs and maps, object files committed.
// Next: services/routeragent/kernel, which loads and attaches them.
//
// Little-endian only, as every machine the agent is built for. No CO-RE: the
// programs touch only the stable __sk_buff, so kernels without BTF run them.
package bpf

import (
	"crypto/sha256"
	"encoding/hex"
)

//go:generate go tool bpf2go -cc clang -target bpfel -type addr -type key -type key6 -type rule -type lengths -type lengths6 -type range -type term -type policy -type port -type hit -type police_key -type bucket -type action -type policer -type meter -type attachment -type circuit -type exit -type bucket_path -type path_set Classifier classifier.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang -target bpfel PoliceTest policetest.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu

// Version distinguishes one build of the classifier from another, so that an agent
// takes over the programs of an earlier one only if they are the same.
func Version() string {
	sum := sha256.Sum256(_ClassifierBytes)
	return hex.EncodeToString(sum[:4])
}
