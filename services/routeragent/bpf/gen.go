// Package bpf holds the compiled classifier programs.
//
// In: classifier.c. Out: typed loaders of its programs and maps, object file
// committed. Next: services/routeragent/kernel, which loads and attaches them.
//
// Little-endian only, as every machine the agent is built for. No CO-RE: the
// programs touch only the stable __sk_buff, so kernels without BTF run them.
package bpf

//go:generate go tool bpf2go -cc clang -target bpfel -type key -type rule -type port -type hit Classifier classifier.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu
