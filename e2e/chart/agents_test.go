package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/peagent"
	"github.com/millrace/millrace/services/routeragent"
)

const agents = "testdata/values/agents.yaml"

// configMaps are the files of each ConfigMap that was rendered.
func configMaps(t *testing.T, rendered string) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, text := range strings.Split(rendered, "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "ConfigMap" {
			found[o.Metadata.Name] = o.Data
		}
	}
	return found
}

// The agents take what the chart writes for each node.
func TestAgentsTakeTheirConfiguration(t *testing.T) {
	out, err := render(t, "--values", agents, "--show-only", "templates/agents.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	load := map[string]func(file string) (name string, err error){
		"millrace-router-agent": func(file string) (string, error) { c, err := routeragent.Load(file); return c.Name, err },
		"millrace-pe-agent":     func(file string) (string, error) { c, err := peagent.Load(file); return c.PE.String(), err },
	}
	var taken []string
	for of, files := range configMaps(t, out) {
		for file, text := range files {
			path := filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			name, err := load[of](path)
			if err != nil {
				t.Errorf("%s: %v\n%s", of, err, text)
			}
			taken = append(taken, file+" "+name)
		}
	}
	if got := fmt.Sprint(len(taken), taken); len(taken) != 3 || !strings.Contains(got, "wr.example.net.yaml WR") || !strings.Contains(got, "er.example.net.yaml 192.0.2.1") {
		t.Errorf("taken: %s", got)
	}
}

func TestAgentsThatCannotStartAreRefused(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"no vtysh", "agents.image=", "agents.pe.nodes needs agents.image"},
		{"no group of FRR", "agents.groups=null", "agents.pe.nodes needs agents.image"},
		{"a group by its name", "agents.groups={frrvty}", "at '/agents/groups/0'"},
		{"a misspelt key", "agents.router.node.n1.listen=a:1", "additional properties 'node' not allowed"},
		{"a router that listens nowhere", "agents.router.nodes.n1.name=a", "agents.router.nodes.n1 needs listen"},
		{"a router that nobody may configure", "agents.router.config.roles=null", "has no roles: nobody could configure the router"},
		{"metrics that no probe finds", "agents.router.config.metrics=192.0.2.1:9340", "the probes ask port 9340 of 127.0.0.1"},
		{"a folder that is not mounted", "agents.router.nodes.wr\\.example\\.net.data_dir=/srv", "agents.router.nodes.wr.example.net has data_dir"},
		{"maps that are pinned elsewhere", "agents.pe.config.pins=/a", "has pins: the chart says where that lies"},
		{"a router without FRR", "agents.router.config.frr_instance=none", "the chart is for routers with FRR"},
		{"an API that no probe finds", "agents.pe.config.listen=127.0.0.1:1", "the probes ask 127.0.0.1:4756"},
		{"packets without keys", "agents.pe.keysSecret=", "agents.pe.nodes needs agents.pe.keysSecret"},
		{"less memory than an agent may take", "agents.router.config.memory=2147483648", "may need twice its memory, which is 2147483648 octets"},
		{"two volumes for certificates", "agents.tls.csi.driver=a,agents.tls.secret.secretName=b", "at '/agents/tls'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := render(t, "--values", agents, "--set", c.set)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v\n%s\nwant an error with %q", err, out, c.want)
			}
		})
	}
}

// The metrics of agents may be for a Prometheus in pods.
func TestMetricsOfAgentsMayBeForOthers(t *testing.T) {
	for _, at := range []string{"0.0.0.0:9340", ":9340", "[::]:9340"} {
		if out, err := render(t, "--values", agents, "--set-string", "agents.router.config.metrics="+at); err != nil {
			t.Errorf("%s: %v\n%s", at, err, out)
		}
	}
}

// TestConfigurationsOfAgentsAreCheckedFirst: the job before an install has the very files that the agents get.
func TestConfigurationsOfAgentsAreCheckedFirst(t *testing.T) {
	files := func(template string) map[string]string {
		out, err := render(t, "--values", agents, "--show-only", template)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		found := map[string]string{}
		for of, files := range configMaps(t, out) {
			kind := map[string]string{"millrace-router-agent": "router-", "millrace-pe-agent": "pe-"}[of]
			for file, text := range files {
				if file != "millrace.yaml" && file != "inventory.yaml" {
					found[kind+file] = strings.TrimSpace(text)
				}
			}
		}
		return found
	}
	got, want := files("templates/check.yaml"), files("templates/agents.yaml")
	if d := cmp.Diff(got, want); d != "" || len(got) != 3 {
		t.Errorf("%d files, (-checked +used):\n%s", len(got), d)
	}
	out, err := render(t, "--values", agents, "--show-only", "templates/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]string{}
	for _, c := range podSpecs(t, out)["Job millrace-check"]["containers"].([]any) {
		checked[fmt.Sprint(c.(map[string]any)["name"])] = fmt.Sprint(c.(map[string]any)["args"])
	}
	if d := cmp.Diff(checked, map[string]string{
		"check":        "[up --check --config /etc/millrace/config/millrace.yaml]",
		"check-router": "[agent check /etc/millrace/config/router-er.example.net.yaml /etc/millrace/config/router-wr.example.net.yaml]",
		"check-pe":     "[pe check /etc/millrace/config/pe-er.example.net.yaml]",
	}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

// An older API server knows AppArmor by an annotation.
func TestThePEAgentIsLetWriteBelowSys(t *testing.T) {
	for version, want := range map[string]string{"1.29.0": "container.apparmor.security.beta.kubernetes.io/agent: unconfined", "1.30.0": "appArmorProfile: {type: Unconfined}"} {
		out, err := render(t, "--values", agents, "--show-only", "templates/agents.yaml", "--kube-version", version)
		if err != nil || strings.Count(out, want) != 1 || strings.Count(strings.ToLower(out), "unconfined") != 1 {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

// TestAgentsRunWhereTheyAreConfigured: on no other node, and on theirs whatever keeps other pods off it.
func TestAgentsRunWhereTheyAreConfigured(t *testing.T) {
	out, err := render(t, "--values", agents, "--values", "testdata/values/scheduled.yaml", "--set", "agents.tls.csi.driver=csi.cert-manager.io")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	specs := podSpecs(t, out)
	for what, nodes := range map[string]string{"DaemonSet millrace-router-agent": "er.example.net wr.example.net", "DaemonSet millrace-pe-agent": "er.example.net"} {
		spec := specs[what]
		terms := spec["affinity"].(map[string]any)["nodeAffinity"].(map[string]any)["requiredDuringSchedulingIgnoredDuringExecution"].(map[string]any)["nodeSelectorTerms"].([]any)
		var on []string
		for _, term := range terms {
			field := term.(map[string]any)["matchFields"].([]any)[0].(map[string]any)
			on = append(on, fmt.Sprint(field["values"].([]any)[0]))
		}
		if got := strings.Join(on, " "); got != nodes || spec["nodeSelector"] != nil {
			t.Errorf("%s runs on %s, nodeSelector %v", what, got, spec["nodeSelector"])
		}
		if got := fmt.Sprint(spec["tolerations"]); got != "[map[operator:Exists]]" {
			t.Errorf("%s tolerates %s", what, got)
		}
		if text, err := yaml.Marshal(spec["volumes"]); err != nil || !strings.Contains(string(text), "driver: csi.cert-manager.io") || strings.Contains(string(text), "path: /etc/millrace\n") {
			t.Errorf("%s: %v\n%s", what, err, text)
		}
	}
}
