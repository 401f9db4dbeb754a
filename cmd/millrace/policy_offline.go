package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/policies"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	policyservice "github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/offline"
)

// offline plans a file for a network in another, with the very code the services run.
func (f planFlags) offline(policy string) (*policyv1.PlanResponse, error) {
	p, err := readPolicy(policy)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(f.network)
	if err != nil {
		return nil, coded{fmt.Errorf("read network: %w", err), exitUsage}
	}
	n, err := offline.Parse(raw)
	if err != nil {
		return nil, coded{fmt.Errorf("%s: %w", f.network, err), exitUsage}
	}
	if f.router != "" && !slices.ContainsFunc(n.Routers, func(r offline.Router) bool { return r.Name == f.router }) {
		return nil, coded{fmt.Errorf("there is no router %s in %s", f.router, f.network), exitUnmet}
	}
	find, err := offline.NewFinder(n)
	if err != nil {
		return nil, coded{fmt.Errorf("%s: %w", f.network, err), exitUsage}
	}
	result, err := compile.Compile(n.Input(*p, find))
	if err != nil {
		return nil, coded{err, exitUnmet}
	}
	r, err := renderers().Response(result, policyservice.Request{Router: f.router, Syntax: f.render, Inventory: &device.Inventory{}})
	if err != nil {
		return nil, coded{err, exitUnmet}
	}
	return r, nil
}

// readPolicy reads a file, or a shipped policy by its name.
func readPolicy(name string) (*document.Policy, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if shipped, shippedErr := policies.Files.ReadFile(name + ".yaml"); shippedErr == nil {
			text, err = shipped, nil
		}
	}
	if err != nil {
		return nil, coded{fmt.Errorf("read policy: %w; write a file, or the name of a shipped policy", err), exitUsage}
	}
	p, problems := document.Parse(name, string(text))
	if err := document.Join(problems); err != nil {
		return nil, coded{err, exitUnmet}
	}
	return p, nil
}
