// Package vpn holds the policies that share the core among VPNs, and their schema.
//
// In: nothing. Out: the files. Next: internal/vpnshare reads what an operator writes after these examples.
package vpn

import "embed"

// Files are the shipped examples.
//
//go:embed *.yaml
var Files embed.FS

// Schema is the JSON Schema of such a file.
//
//go:embed schema.json
var Schema []byte
