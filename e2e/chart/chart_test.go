// Package chart checks the Helm chart without a cluster: what it renders, what it refuses and why.
//
// In: deploy/helm/millrace, helm (MILLRACE_K8S, or .cache/k8s). Out: golden manifests, and refusals that name the key.
// Next: e2e/k8s, which installs it on a node.
package chart

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

var rewrite = flag.Bool("rewrite", false, "write golden manifests and docs/reference/helm.md")

const folder = "../../deploy/helm/millrace"

// helm runs the real one.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	tools := os.Getenv("MILLRACE_K8S")
	if tools == "" {
		tools = filepath.Join("..", "..", ".cache", "k8s")
	}
	path := filepath.Join(tools, "bin", "helm")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("helm is missing: run tools/k8s/helm/fetch.sh (%v)", err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

// kinds are those of other projects' operators, which the cluster of some cases has.
var kinds = []string{"--api-versions", "gateway.networking.k8s.io/v1/HTTPRoute", "--api-versions", "monitoring.coreos.com/v1/ServiceMonitor"}

func render(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"template", "millrace", folder, "--namespace", "te"}, args...)...)
}

func TestGolden(t *testing.T) {
	values, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(values) < 6 {
		t.Fatalf("%d cases, %v", len(values), err)
	}
	for _, file := range values {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			got, err := render(t, append([]string{"--values", file}, kinds...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			golden := filepath.Join("testdata", "golden", filepath.Base(file))
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, string(want)); d != "" {
				t.Errorf("rendered (-got +want); with -rewrite it is written:\n%s", d)
			}
		})
	}
}

// The program takes each millrace.yaml that the chart writes.
func TestProgramTakesConfiguration(t *testing.T) {
	values, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range values {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			object, err := render(t, "--values", file, kinds[0], kinds[1], kinds[2], kinds[3], "--show-only", "templates/configmap.yaml")
			if err != nil {
				t.Fatalf("%v\n%s", err, object)
			}
			var config struct{ Data map[string]string }
			if err := yaml.Unmarshal([]byte(object), &config); err != nil {
				t.Fatal(err)
			}
			policies, err := filepath.Abs("../../policies")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for name, text := range config.Data {
				text = strings.ReplaceAll(text, "/etc/millrace-policies", policies)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.CommandContext(t.Context(), program.Path, "up", "--check", "--config", filepath.Join(dir, "millrace.yaml")).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, config.Data["millrace.yaml"])
			}
		})
	}
}

func TestLint(t *testing.T) {
	if out, err := helm(t, "lint", "--strict", folder); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"a misspelt key", "dashbord.hosts={a}", "additional properties 'dashbord' not allowed"},
		{"one below", "flow.service.typ=NodePort", "at '/flow/service': additional properties 'typ' not allowed"},
		{"an unknown section of millrace.yaml", "config.puhs.x=1", "at '/config': additional properties 'puhs' not allowed"},
		{"a mode that there is not", "nightly.mode=daily", "at '/nightly/mode': value must be one of"},
		{"a time without minutes", "nightly.at=noon", "at '/nightly/at'"},
		{"two ClickHouse servers", "clickhouse.servers={a:9000,b:9000}", "at '/clickhouse/servers': maxItems"},
		{"routers without certificates", "inventory.devices[0].name=WR,inventory.devices[0].address=a:1", "inventory.devices needs inventoryTLSSecret"},
		{"a router without an address", "inventory.devices[0].name=WR", "missing property 'address'"},
		{"a job without a token", "nightly.mode=cronjob", "nightly.mode cronjob needs nightly.tokenSecret"},
		{"an Ingress without a certificate", "ingress.enabled=true", "ingress.enabled needs ingress.host and ingress.tlsSecret"},
		{"scrapes without a token", "monitoring.serviceMonitor=true", "monitoring.serviceMonitor needs monitoring.tokenSecret"},
		{"a cluster without ServiceMonitor", "monitoring.serviceMonitor=true,monitoring.tokenSecret=a", "this cluster has no kind ServiceMonitor"},
		{"a cluster without the Gateway API", "gateway.enabled=true", "this cluster has no kind HTTPRoute"},
		{"a policy that is no YAML file", "policies.alpha=a", "does not match pattern '\\\\.yaml$'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := render(t, "--set", c.set)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v\n%s\nwant an error with %q", err, out, c.want)
			}
		})
	}
}
