package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// runPolicy prints errors as main does.
func runPolicy(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := policyCommand()
	usageErrors(cmd)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		return out.String(), 0
	}
	return out.String() + "millrace: " + err.Error() + "\n", exitCode(err)
}

const golden = "../../policies/golden/"

func TestPlansNeedNoControlPlane(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		code int
		want []string
	}{
		{
			"the plan of one router, for people", []string{"plan", "../../policies/geant-lbe.yaml", "--network", golden + "geant-lbe/network.yaml", "--router", "wr"}, 0,
			[]string{"lbe: id 2, 0 % of the rate, 15 % of the buffer, low", "work-conserving, excess equal", "DSCP cs6/cs7: queue nc (class network-control)"},
		},
		{
			"a shipped policy by its name, its LSP computed here", []string{"plan", "hntes-wred", "--network", golden + "hntes-wred/network.yaml", "--router", "wr"}, 0,
			[]string{"LSP       te-lsp-wr-er-0a9a38 by 10.255.0.3, 10.255.0.2", "early drop of loss priority high from 0 % full"},
		},
		{
			"OpenConfig", []string{"plan", "geant-lbe", "--network", golden + "geant-lbe/network.yaml", "--router", "wr", "--render", "openconfig"}, 0,
			[]string{"/qos/classifiers/classifier[name=te-edge-4]", `"te-qos-ext:excess-sharing": "EQUAL"`},
		},
		{
			"tc and ip", []string{"plan", "geant-lbe", "--network", golden + "geant-lbe/network.yaml", "--router", "wr", "--render", "linux"}, 0,
			[]string{"tc qdisc replace dev ge-er root handle 7e00: htb default 11", "# te-lbe"},
		},
		{
			"Junos", []string{"plan", "geant-lbe", "--network", golden + "geant-lbe/network.yaml", "--router", "wr", "--render", "junos"}, 0,
			[]string{"class-of-service {", "te-geant-lbe-lbe"},
		},
		{
			"a file without a network is not for the control plane", []string{"plan", "../../policies/geant-lbe.yaml"}, exitUsage,
			[]string{"add --network FILE"},
		},
		{
			"an unknown router", []string{"plan", "geant-lbe", "--network", golden + "geant-lbe/network.yaml", "--router", "xr"}, exitUnmet,
			[]string{"there is no router xr in "},
		},
		{
			"an unknown rendering", []string{"plan", "geant-lbe", "--network", golden + "geant-lbe/network.yaml", "--render", "cobol"}, exitUsage,
			[]string{"write one of junos, linux, openconfig"},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			out, code := runPolicy(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
		})
	}
}

// What is printed where there is no plan is true of the router that was asked for, and of those that are not known.
func TestWhyARouterHasNoPlan(t *testing.T) {
	const everybody, nothing = "no router has a part in this policy", "router wr has no part in policy p"
	absent := &policyv1.PlanResponse{Absent: []string{"er", "wr"}}
	for name, c := range map[string]struct {
		flags     planFlags
		plan      *policyv1.PlanResponse
		want, not []string
	}{
		"no router has a part":              {planFlags{}, &policyv1.PlanResponse{}, []string{everybody}, nil},
		"the router has none":               {planFlags{router: "wr"}, &policyv1.PlanResponse{}, []string{nothing}, []string{everybody}},
		"the router is not in the topology": {planFlags{router: "wr"}, absent, []string{"left out: router wr, because it is not in the topology"}, []string{everybody, nothing, "router er"}},
		"two routers are not":               {planFlags{}, absent, []string{"left out: router er", "left out: router wr"}, []string{everybody}},
		"two are not, rendered":             {planFlags{render: "junos"}, absent, []string{"# left out: router er", "# left out: router wr"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := policyPlanCommand()
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			if err := c.flags.print(cmd, "p", c.plan); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, out.String())
				}
			}
			for _, not := range c.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is not true:\n%s", not, out.String())
				}
			}
		})
	}
}

// A network file that maps no pair: the prefixes' owners are looked up, paths are computed.
func TestPairsByHandAreMappedAndFollowTheIGPsPaths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	policy := write("pairs.yaml", `policy: pairs
queues:
  - {name: beta, id: 0, weight: 50, buffer: 50, priority: medium-low, default: true}
  - {name: alpha, id: 1, weight: 50, buffer: 50, priority: medium-high}
redirect:
  - queue: alpha
    between:
      - {source: 192.0.2.0/24, destination: 198.51.100.0/24}
      - {source: '2001:db8:1::/48', destination: '2001:db8:2::/48'}
      - {source: 203.0.113.0/24, destination: 198.51.100.0/24}
`)
	network := write("network.yaml", `routers:
  - {name: a, loopback: 10.255.0.1, interfaces: [{name: to-b, addresses: [10.0.0.1/31], speed: 1Gbit/s}, {name: cust, addresses: [192.0.2.1/24, '2001:db8:1::1/64'], speed: 1Gbit/s}]}
  - {name: b, loopback: 10.255.0.2, interfaces: [{name: to-a, addresses: [10.0.0.0/31], speed: 1Gbit/s}, {name: cust, addresses: [198.51.100.1/24, '2001:db8:2::1/64'], speed: 1Gbit/s}]}
links:
  - {from: a, to: b, egress: to-b, ingress: to-a, bandwidth: 1Gbit/s}
`)
	out, code := runPolicy(t, "plan", policy, "--network", network)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, want := range []string{
		"filter    ingress on cust", "from 192.0.2.0/24 to 198.51.100.0/24: queue alpha", "from 2001:db8:1::/48 to 2001:db8:2::/48: queue alpha",
		"filter    transit on to-a", "port      to-b at 1Gbit/s", "because no router originates 203.0.113.0/24",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// The walk-through of docs/reference/policies.md, run as it is printed.
func TestTheWalkThroughOfTheReferenceIsReal(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for i, b := range strings.Split(string(page), "```") {
		if first, rest, _ := strings.Cut(strings.TrimPrefix(b, "yaml"), "\n# "); i%2 == 1 && first == "" {
			name, _, _ := strings.Cut(rest, "\n")
			blocks[name] = "# " + rest
		}
		if command, output, ok := strings.Cut(strings.TrimPrefix(b, "\n$ millrace "), "\n"); i%2 == 1 && ok && strings.HasPrefix(b, "\n$ ") {
			blocks[command] += output // the same command twice: first with errors, then without
		}
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) string {
		out, _ := runPolicy(t, strings.Fields(command)[1:]...)
		return out
	}
	write("network.yaml", blocks["network.yaml"])
	write("backup.yaml", blocks["backup.yaml"])
	first := run("policy check backup.yaml")
	write("backup.yaml", strings.NewReplacer("weight: 5", "weight: 10", "buffer: 20, priority: high", "buffer: 20, priority: low", "], destination_ports", "], protocol: tcp, destination_ports").Replace(blocks["backup.yaml"]))
	if got, want := first+run("policy check backup.yaml"), blocks["policy check backup.yaml"]; got != want {
		t.Errorf("check prints\n%s\nthe page says\n%s", got, want)
	}
	plan := "policy plan backup.yaml --network network.yaml --router site"
	if got, want := run(plan), blocks[plan]; got != want || want == "" {
		t.Errorf("plan prints\n%s\nthe page says\n%s", got, want)
	}
}
