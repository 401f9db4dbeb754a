package houserules

import (
	"strings"
	"testing"
)

func TestComponents(t *testing.T) {
	const root = "// Package x does it.\npackage x\n\ntype Dependencies struct{}\n\ntype Component struct{}\n\n" +
		"func New(cfg Configuration, deps Dependencies) (*Component, error) { return nil, nil }\n\n" +
		"func (c *Component) Start(ctx context.Context) (err error) { return nil }\n\nfunc (*Component) Stop(context.Context) error { return nil }\n"
	const config = "package x\n\ntype Configuration struct{}\n\nfunc (c Configuration) Validate() error { return nil }\n"
	others := map[string]string{"services/routeragent/bench/x.go": "package x\n", "services/peagent/bench/x.go": "package x\n"}
	withAgents := func(files map[string]string) map[string]string {
		for name, text := range others {
			files[name] = text
		}
		return files
	}
	noAgents := func(tree *Tree) []string {
		var bad []string
		for _, line := range components(tree) {
			if strings.HasPrefix(line, "services/x ") || strings.HasPrefix(line, "services/peagent has an exception") {
				bad = append(bad, line)
			}
		}
		return bad
	}
	check(t, []ruleCase{
		{"a component", noAgents, withAgents(map[string]string{"services/x/root.go": root, "services/x/config.go": config, "services/x/compute/x.go": "package compute\n"}), nil},
		{"one that checks its configuration by another name, cannot refuse it, and hides its comment", noAgents, withAgents(map[string]string{
			"services/x/x.go": "// Package x does it.\npackage x\n\ntype Configuration struct{}\n\nfunc (c Configuration) check() error { return nil }\n\ntype Dependencies struct{}\n\ntype Component struct{}\n\n" +
				"func New(cfg Configuration, deps Dependencies) *Component { return nil }\n\nfunc (c *Component) Start(ctx context.Context) error { return nil }\n\nfunc (c *Component) Stop() error { return nil }\n",
		}), []string{"services/x has no Configuration.Validate() error", "services/x has no New(Configuration, Dependencies) (*Component, error)", "services/x has no Component.Stop(context.Context) error", "services/x has no package comment in root.go"}},
		{"an agent that has nothing but a part", components, others, []string{
			"services/peagent has no type Configuration", "services/peagent has no type Dependencies", "services/peagent has no type Agent",
			"services/peagent has no Configuration.Validate() error", "services/peagent has no New(Configuration, Dependencies) (*Agent, error)",
			"services/peagent has no Agent.Start(context.Context) error", "services/peagent has no Agent.Stop(context.Context) error", "services/peagent has no package comment in root.go",
			"services/routeragent has no type Configuration", "services/routeragent has no type Dependencies", "services/routeragent has no type Agent",
			"services/routeragent has no Configuration.Validate() error", "services/routeragent has no New(Configuration, Dependencies) (*Agent, error)",
			"services/routeragent has no Agent.Start(context.Context) error", "services/routeragent has no Agent.Stop(context.Context) error", "services/routeragent has no package comment in root.go",
		}},
		{"an exception for what is gone", noAgents, map[string]string{}, []string{"services/peagent has an exception in tools/houserules/components.go and is gone"}},
	})
}
