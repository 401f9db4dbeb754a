// Package policies holds the policies that ship with Millrace, and the schema
// editors complete them from.
//
// In: nothing. Out: the files. Next: services/policy loads them unless it is
// given a folder of the operator's own.
package policies

import "embed"

// Files are the shipped policies.
//
//go:embed *.yaml
var Files embed.FS

// Schema is the JSON Schema of a policy file.
//
//go:embed schema.json
var Schema []byte
