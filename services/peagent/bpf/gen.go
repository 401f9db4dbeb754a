// Package bpf holds the compiled programs of the PE datapath.
//
// In: pe.c. Out: typed loaders of its programs and maps; the object file is committed. Next:
// services/peagent/datapath, which loads, pins and attaches them.
//
// The object is little-endian only. It does not use CO-RE: the programs read only the stable __sk_buff, so kernels
// without BTF run them. -mcpu=v3 (atomics that return a value) needs Linux 5.12; datapath.Probe tries it.
package bpf

//go:generate go tool bpf2go -cc clang -target bpfel -type control -type key -type port -type prefix -type prefix6 -type peer -type flow -type rate -type feedback -type received -type management Pe pe.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
