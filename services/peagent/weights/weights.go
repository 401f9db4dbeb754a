// Package weights reads the policy file of an agent that no control plane has told its weights.
//
// In: a file after policies/vpn/*.yaml. Out: Policy. Next: services/peagent.
package weights

import (
	"fmt"
	"os"

	"github.com/millrace/millrace/internal/vpnshare"
)

// Max is the largest weight.
const Max = vpnshare.MaxWeight

// Criterion says what fair is, Policy what follows from it.
type (
	Criterion = vpnshare.Criterion
	Policy    = vpnshare.Policy
)

// The criteria.
const (
	Weighted = vpnshare.Weighted
	Equal    = vpnshare.Equal
	MaxMin   = vpnshare.MaxMinFair
)

// Load reads a policy file.
func Load(path string) (Policy, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Policy{}, fmt.Errorf("read weights: %w", err)
	}
	p, err := Parse(raw)
	if err != nil {
		return Policy{}, fmt.Errorf("weights %s: %w", path, err)
	}
	return p, nil
}

// Parse reads a policy's text. Links must be in it: an agent knows no topology.
func Parse(text []byte) (Policy, error) {
	f, err := vpnshare.Parse(text)
	if err != nil {
		return Policy{}, err
	}
	return f.Compile(nil)
}
