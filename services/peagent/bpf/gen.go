// Package bpf holds the compiled programs of the PE datapath.
//
// In: pe.c. Out: typed loaders of its programs and maps, object file committed.
// Next: services/peagent/datapath, which loads, pins and attaches them.
//
// Little-endian only. No CO-RE: the programs touch only the stable __sk_buff,
// so kernels without BTF run them. -mcpu=v3 (atomics that return a value) needs
// Linux 5.12; datapath.Probe tries it.
package bpf

//go:generate go tool bpf2go -cc clang -target bpfel -type control -type key -type port -type prefix -type prefix6 -type peer -type flow -type rate -type echo -type received -type management Pe pe.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
