// Package octest holds ygot's structs of the agent's data model, which tests
// compare the agent with.
//
// In: YANG, through tools/ygot-gen. Out: a second opinion on documents. Next:
// tools/modeltable, which makes the agent's table of the same schema, and tests.
package octest

import "github.com/openconfig/ygot/ytypes"

// Judge lets ygot read a document and judge its types, ranges, patterns and
// keys. References are not followed: ygot walks the whole tree for each.
func Judge(document []byte) (*Device, error) {
	d := &Device{}
	if err := Unmarshal(document, d); err != nil {
		return nil, err
	}
	return d, d.Validate(&ytypes.LeafrefOptions{IgnoreMissingData: true})
}
