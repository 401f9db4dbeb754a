package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// podSpecs are what the pods of a rendered release are made of, by kind and name of the object that makes them.
func podSpecs(t *testing.T, rendered string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, text := range strings.Split(rendered, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for at := o; at != nil; {
			spec, _ := at["spec"].(map[string]any)
			if spec["containers"] != nil {
				found[fmt.Sprint(o["kind"], " ", o["metadata"].(map[string]any)["name"])] = spec
			}
			next, _ := spec["template"].(map[string]any)
			if job, is := spec["jobTemplate"].(map[string]any); is {
				next = job
			}
			at = next
		}
	}
	return found
}

// TestEveryPodIsScheduledAlike: the image has one architecture, and jobs must not land where it does not run.
func TestEveryPodIsScheduledAlike(t *testing.T) {
	for name, want := range map[string]string{"operators": "StatefulSet Job CronJob Pod", "parts": "Deployment StatefulSet Job CronJob Pod"} {
		out, err := render(t, append([]string{"--values", "testdata/values/" + name + ".yaml", "--values", "testdata/values/scheduled.yaml"}, kinds...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		seen := map[string]bool{}
		for what, spec := range podSpecs(t, out) {
			kind, _, _ := strings.Cut(what, " ")
			seen[kind] = true
			for _, key := range []string{"nodeSelector", "tolerations", "affinity", "priorityClassName"} {
				if spec[key] == nil {
					t.Errorf("%s: %s has no %s", name, what, key)
				}
			}
		}
		for _, kind := range strings.Fields(want) {
			if !seen[kind] {
				t.Errorf("%s: no pod of a %s was looked at", name, kind)
			}
		}
	}
}

// TestSecretsLieWhereTheyAreUsed: with parts, in the pods of the services that are named.
func TestSecretsLieWhereTheyAreUsed(t *testing.T) {
	const set = "secrets[0].name=oidc,secrets[0].services={identity},secrets[1].name=junos.example.net"
	for _, name := range []string{"operators", "parts"} {
		out, err := render(t, append([]string{"--values", "testdata/values/" + name + ".yaml", "--set", set}, kinds...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for what, spec := range podSpecs(t, out) {
			text, err := yaml.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if first := spec["containers"].([]any)[0].(map[string]any)["args"].([]any)[0]; first != "up" && first != "serve" {
				continue // a client of the control plane, such as the nightly run
			}
			oidc := strings.Contains(string(text), "/etc/millrace-secrets/oidc")
			if want := name == "operators" || what == "Job millrace-check" || what == "Deployment millrace-identity"; oidc != want {
				t.Errorf("%s: %s has the secret of identity: %v", name, what, oidc)
			}
			if !strings.Contains(string(text), "/etc/millrace-secrets/junos.example.net") {
				t.Errorf("%s: %s has not the secret of all", name, what)
			}
		}
	}
}

// policy is what the tests look at of a NetworkPolicy.
type policy struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Ingress []struct {
			Ports []struct{ Port string }
			From  []map[string]any
		}
	}
}

// whoReaches are the peers that policies let in to a port; everybody, if one names none.
func whoReaches(t *testing.T, port string, args ...string) string {
	t.Helper()
	out, err := render(t, append(append([]string{"--show-only", "templates/networkpolicy.yaml"}, args...), kinds...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var peers []string
	for _, text := range strings.Split(out, "\n---\n") {
		var p policy
		if err := yaml.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		for _, rule := range p.Spec.Ingress {
			if p.Metadata.Name == "millrace-services" || rule.Ports[0].Port != port {
				continue
			}
			if rule.From == nil {
				return "everybody"
			}
			for _, peer := range rule.From {
				peers = append(peers, fmt.Sprint(peer))
			}
		}
	}
	return strings.Join(peers, " ")
}

const (
	release   = "map[podSelector:map[matchLabels:map[app.kubernetes.io/instance:millrace app.kubernetes.io/name:millrace]]]"
	namespace = "map[podSelector:map[]]"
	cluster   = "map[namespaceSelector:map[]]"
	named     = "map[ipBlock:map[cidr:192.0.2.0/24]]"
	scraper   = "map[ipBlock:map[cidr:198.51.100.9/32]]"
)

// TestPoliciesLetInWhatTheReleaseNeeds: its own jobs, what stands in front of the dashboard, and who reads metrics.
func TestPoliciesLetInWhatTheReleaseNeeds(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"a ClusterIP", "", release + " " + namespace},
		{"peers that are named", "networkPolicy.dashboardFrom[0].ipBlock.cidr=192.0.2.0/24", release + " " + named},
		{"the controller of an Ingress is in a namespace of its own", "ingress.enabled=true,ingress.host=a,ingress.tlsSecret=b", release + " " + cluster},
		{"so is that of a Gateway", "gateway.enabled=true,gateway.host=a,gateway.parentRefs[0].name=b", release + " " + cluster},
		{"a load balancer is for people outside", "dashboard.service.type=LoadBalancer", "everybody"},
		{"so is a port of the nodes", "dashboard.service.type=NodePort", "everybody"},
		{"a load balancer for some", "dashboard.service.type=LoadBalancer,networkPolicy.dashboardFrom[0].ipBlock.cidr=192.0.2.0/24", release + " " + named},
		{"Prometheus", "networkPolicy.metricsFrom[0].ipBlock.cidr=198.51.100.9/32", release + " " + namespace + " " + scraper},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := whoReaches(t, "http", "--set", c.set); got != c.want {
				t.Errorf("reached by %s\nwant %s", got, c.want)
			}
			parts := "parts.enabled=true,parts.tlsSecret=a," + servers
			if got := whoReaches(t, "http", "--set", parts, "--set", c.set); got != c.want {
				t.Errorf("with parts reached by %s\nwant %s", got, c.want)
			}
		})
	}
	for _, set := range []string{"", "parts.enabled=true,parts.tlsSecret=a," + servers} {
		if got := whoReaches(t, "flows", "--set", set); got != "everybody" {
			t.Errorf("the port for flows is reached by %q", got)
		}
		if got := whoReaches(t, "fireflies", "--set", set, "--set", "flow.fireflies.sources={192.0.2.0/24}"); got != named {
			t.Errorf("the port for fireflies is reached by %q", got)
		}
	}
}
