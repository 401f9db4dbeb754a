// Package chart checks the Helm chart without a cluster: what it renders, what it refuses and why.
//
// In: deploy/helm/millrace, helm (MILLRACE_K8S, or .cache/k8s). Out: golden manifests, and refusals that name the key.
// Next: e2e/k8s, which installs it on a node.
package chart

import (
	"flag"
	"fmt"
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
var kinds = []string{"--api-versions", "gateway.networking.k8s.io/v1/HTTPRoute", "--api-versions", "monitoring.coreos.com/v1/ServiceMonitor",
	"--api-versions", "monitoring.coreos.com/v1/PrometheusRule", "--api-versions", "cert-manager.io/v1/Certificate"}

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
			got = shown(t, file, got)
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

// shown is what the golden file has: all of it, or the objects that the first line of the values names, because fifteen
// services are alike.
func shown(t *testing.T, values, rendered string) string {
	t.Helper()
	first, _, _ := strings.Cut(read(t, values), "\n")
	only, is := strings.CutPrefix(first, "# shows ")
	if !is {
		return rendered
	}
	var kept []string
	for _, object := range strings.Split(rendered, "\n---\n") {
		for _, name := range strings.Fields(only) {
			if strings.Contains(object, "\n  name: "+name+"\n") {
				kept = append(kept, strings.TrimPrefix(object, "---\n"))
			}
		}
	}
	return strings.Join(kept, "\n---\n") + "\n"
}

// The program takes each millrace.yaml that the chart writes.
func TestProgramTakesConfiguration(t *testing.T) {
	values, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range values {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			object, err := render(t, append([]string{"--values", file, "--show-only", "templates/configmap.yaml"}, kinds...)...)
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

// servers are what services in pods of their own share.
const servers = "etcd.endpoints={https://a:2379},kafka.brokers={a:9093},kafka.tlsSecret=a"

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"a misspelt key", "dashbord.hosts={a}", "additional properties 'dashbord' not allowed"},
		{"one below", "flow.service.typ=NodePort", "at '/flow/service': additional properties 'typ' not allowed"},
		{"an unknown section of millrace.yaml", "config.puhs.x=1", "at '/config': additional properties 'puhs' not allowed"},
		{"a mode that there is not", "nightly.mode=daily", "at '/nightly/mode': value must be one of"},
		{"a time without minutes", "nightly.at=noon", "at '/nightly/at'"},
		{"two ClickHouse servers of no cluster", "clickhouse.servers={a:9000,b:9000}", "need clickhouse.cluster"},
		{"routers without certificates", "inventory.devices[0].name=WR,inventory.devices[0].address=a:1", "inventory.devices needs inventoryTLSSecret"},
		{"a router without an address", "inventory.devices[0].name=WR", "missing property 'address'"},
		{"a job without a token", "nightly.mode=cronjob", "nightly.mode cronjob needs nightly.tokenSecret"},
		{"an Ingress without a certificate", "ingress.enabled=true", "ingress.enabled needs ingress.host and ingress.tlsSecret"},
		{"scrapes without a token", "monitoring.serviceMonitor=true", "monitoring.serviceMonitor needs monitoring.tokenSecret"},
		{"a cluster without ServiceMonitor", "monitoring.serviceMonitor=true,monitoring.tokenSecret=a", "this cluster has no kind ServiceMonitor"},
		{"a cluster without PrometheusRule", "monitoring.prometheusRule=true", "this cluster has no kind PrometheusRule"},
		{"less memory than the engine and Go may take", "resources.limits.memory=4Gi", "resources.limits.memory is 4Gi"},
		{"less than a larger engine may take", "clickhouse.maxServerMemory=5368709120", "the engine 5368709120 octets"},
		{"less than Go may take beside no engine", "clickhouse.servers={a:9000},goMemLimit=3GiB,resources.limits.memory=3000M", "Go has up to 3GiB"},
		{"less than Go may take beside Kafka", "kafka.brokers={a:9093},kafka.tlsSecret=a,resources.limits.memory=5090Mi", "Go has up to 3043MiB"},
		{"brokers without TLS", "kafka.brokers={a:9093}", "kafka.brokers needs kafka.tlsSecret"},
		{"a broker that is a URL", "kafka.brokers={https://a:9093}", "at '/kafka/brokers/0'"},
		{"a mechanism that there is not", "kafka.mechanism=GSSAPI", "at '/kafka/mechanism': value must be one of"},
		{"a user of brokers without a password", "kafka.brokers={a:9093},kafka.tlsSecret=a,kafka.username=a", "kafka.username and kafka.passwordSecret: set both or neither"},
		{"a password of etcd without a user", "etcd.endpoints={https://a:2379},etcd.passwordSecret=a", "etcd.username and etcd.passwordSecret: set both or neither"},
		{"a user of no etcd", "etcd.username=a,etcd.passwordSecret=a", "none is named: set etcd.endpoints"},
		{"a user of no brokers", "kafka.username=a,kafka.passwordSecret=a", "none is named: set kafka.brokers"},
		{"memory that is no amount", "resources.limits.memory=6GB", "6GB is no amount of memory"},
		{"a cluster without the Gateway API", "gateway.enabled=true", "this cluster has no kind HTTPRoute"},
		{"parts without servers", "parts.enabled=true,parts.tlsSecret=a", "parts.enabled needs etcd.endpoints and kafka.brokers"},
		{"parts without certificates", "parts.enabled=true," + servers, "parts.enabled needs parts.tlsSecret or parts.issuer"},
		{"parts with certificates from two places", "parts.enabled=true,parts.tlsSecret=a,parts.issuer.name=b," + servers, "and not both"},
		{"a cluster without cert-manager", "parts.enabled=true,parts.issuer.name=b," + servers, "this cluster has no kind Certificate"},
		{"replicas of no service", "parts.enabled=true,parts.tlsSecret=a,parts.replicas.pahts=2," + servers, "parts.replicas.pahts: there is no such service"},
		{"two engines", "parts.enabled=true,parts.tlsSecret=a,parts.replicas.flowstore=2," + servers, "several pods of flowstore need clickhouse.servers"},
		{"less memory than a part may take", "parts.enabled=true,parts.tlsSecret=a,parts.resources.limits.memory=1Gi," + servers, "the limit of memory of alpha is 1Gi, and the pod may need 1710 MiB"},
		{"a larger engine in a part", "parts.enabled=true,parts.tlsSecret=a,clickhouse.maxServerMemory=8589934592," + servers, "the limit of memory of flowstore is 6Gi, and the pod may need 10452 MiB"},
		{"no time to drain", "parts.enabled=true,parts.tlsSecret=a,terminationGracePeriodSeconds=20," + servers, "a process goes on for 15 s"},
		{"the claim of one pod", "parts.enabled=true,parts.tlsSecret=a,persistence.existingClaim=a," + servers, "persistence.existingClaim is of the one pod"},
		{"an NSI provider in parts", "parts.enabled=true,parts.tlsSecret=a,config.nsi.listen=a:1," + servers, "the chart has no pod for the NSI provider"},
		{"parts that are off", "parts.replicas.paths=2", "parts.enabled is false, and parts has further values"},
		{"a secret of no service", "secrets[0].name=a,secrets[0].services={idenity}", "secrets: a is for the service idenity, and there is no such service"},
		{"a name that leaves no room for a CronJob's", "fullnameOverride=" + strings.Repeat("a", 45) + ",nightly.mode=cronjob,nightly.tokenSecret=a", "has 45 characters, and may have 44"},
		{"one that leaves no room for a flow store's", "fullnameOverride=" + strings.Repeat("a", 43) + ",parts.enabled=true,parts.tlsSecret=a," + servers, "has 43 characters, and may have 42"},
		{"one that leaves no room for a collector's", "fullnameOverride=" + strings.Repeat("a", 48) + ",clickhouse.servers={a:9000},parts.enabled=true,parts.tlsSecret=a," + servers, "has 48 characters, and may have 47"},
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

// What just holds is not refused.
func TestMemoryThatHoldsIsTaken(t *testing.T) {
	for _, set := range []string{
		"resources.limits.memory=4511Mi", // 2048 of the engine, 2463 of Go
		"goMemLimit=1GiB,resources.limits.memory=3Gi",
		"goMemLimit=1GiB,clickhouse.servers={a:9000},resources.limits.memory=1073741824",
		"resources.limits=null",
	} {
		if out, err := render(t, "--set", set); err != nil {
			t.Errorf("%s: %v\n%s", set, err, out)
		}
	}
	if page := read(t, "../../docs/reference/memory.md"); !strings.Contains(page, "without a cluster is **2463 MiB**, with Kafka **3043 MiB**") {
		t.Error("the chart adds 2463 MiB for Go, 3043 MiB with Kafka, and docs/reference/memory.md has other sums")
	}
}

// The chart's rules are those that promtool tests.
func TestRulesAreThoseOfPrometheus(t *testing.T) {
	for _, file := range []string{"alerts.yaml", "slo.yaml"} {
		if d := cmp.Diff(read(t, filepath.Join(folder, "rules", file)), read(t, filepath.Join("../../deploy/prometheus", file))); d != "" {
			t.Errorf("copy deploy/prometheus/%s to deploy/helm/millrace/rules (-chart +prometheus):\n%s", file, d)
		}
	}
}

// Two releases in one namespace share no object, and no service or policy of one selects the other's pod.
func TestTwoReleasesFitIntoOneNamespace(t *testing.T) {
	var names, selectors []map[string]bool
	for _, release := range []string{"millrace", "lab"} {
		out, err := helm(t, append([]string{"template", release, folder, "--namespace", "te", "--values", "testdata/values/operators.yaml",
			"--set", "serviceAccount.create=true,podDisruptionBudget.enabled=true,networkPolicy.enabled=true"}, kinds...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		of, by := objects(t, out)
		names, selectors = append(names, of), append(selectors, by)
	}
	if len(names[0]) < 8 || len(names[0]) != len(names[1]) {
		t.Fatalf("the releases have %d and %d objects", len(names[0]), len(names[1]))
	}
	for i, first := range []map[string]bool{names[0], selectors[0]} {
		for what := range first {
			if second := []map[string]bool{names[1], selectors[1]}[i]; second[what] {
				t.Errorf("both releases have %s", what)
			}
		}
	}
}

// objects are kinds and names of what was rendered, and the labels by which pods are selected.
func objects(t *testing.T, rendered string) (names, selectors map[string]bool) {
	t.Helper()
	names, selectors = map[string]bool{}, map[string]bool{}
	for _, text := range strings.Split(rendered, "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Selector    map[string]any
				PodSelector map[string]any `yaml:"podSelector"`
			}
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o.Kind == "" {
			continue
		}
		if names[o.Kind+" "+o.Metadata.Name] {
			t.Errorf("%s %s is there twice", o.Kind, o.Metadata.Name)
		}
		names[o.Kind+" "+o.Metadata.Name] = true
		for _, by := range []map[string]any{o.Spec.Selector, o.Spec.PodSelector} {
			if len(by) > 0 {
				selectors[o.Kind+fmt.Sprint(by)] = true
			}
		}
	}
	return names, selectors
}
