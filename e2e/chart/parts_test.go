package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// object is what the tests of parts look at.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas  *int
		DNSNames  []string `yaml:"dnsNames"`
		Usages    []string
		SecretRef string `yaml:"secretName"`
		Selector  any
		Template  struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Containers []struct {
					Args         []string
					VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name   string
					Secret struct {
						Name string `yaml:"secretName"`
					}
				}
				TopologySpread []any `yaml:"topologySpreadConstraints"`
			}
		}
	}
}

// parts renders a case.
func parts(t *testing.T, name string, args ...string) map[string]object {
	t.Helper()
	out, err := render(t, append(append([]string{"--values", "testdata/values/" + name + ".yaml"}, kinds...), args...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]object{}
	for _, text := range strings.Split(out, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o.Kind != "" {
			found[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	return found
}

// TestEachServiceHasItsOwnPods: with its own certificate, and with keys for others only where it uses them.
func TestEachServiceHasItsOwnPods(t *testing.T) {
	found := parts(t, "parts", "--set", "inventoryTLSSecret=routers")
	served := 0
	for what, o := range found {
		kind, name, _ := strings.Cut(what, " ")
		if kind != "Deployment" && kind != "StatefulSet" {
			continue
		}
		served++
		service := o.Spec.Template.Metadata.Labels["app.kubernetes.io/component"]
		if args := o.Spec.Template.Spec.Containers[0].Args; len(args) < 2 || args[0] != "serve" || args[1] != service {
			t.Errorf("%s runs %v", what, args)
		}
		if _, there := found["Service "+name]; !there {
			t.Errorf("nobody finds %s: there is no Service %s", what, name)
		}
		if keeps := service == "flow" || service == "flowstore"; keeps != (kind == "StatefulSet") {
			t.Errorf("%s is a %s", service, kind)
		}
		secrets := map[string]string{}
		for _, v := range o.Spec.Template.Spec.Volumes {
			secrets[v.Name] = v.Secret.Name
		}
		if secrets["parts"] != "millrace-tls-"+service {
			t.Errorf("%s has the certificate in %q", service, secrets["parts"])
		}
		if dials := slices.Contains([]string{"push", "telemetry", "topology", "vpn"}, service); dials != (secrets["tls"] == "routers") {
			t.Errorf("%s has the routers' key in %q", service, secrets["tls"])
		}
	}
	if served != 15 {
		t.Errorf("%d services have pods", served)
	}
	if n := found["Deployment millrace"].Spec.Replicas; n == nil || *n != 2 {
		t.Errorf("%v dashboards", n)
	}
	if n := len(found["Deployment millrace"].Spec.Template.Spec.TopologySpread); n != 2 {
		t.Errorf("%d constraints spread two dashboards", n)
	}
	for _, pdb := range []string{"millrace", "millrace-push"} {
		if _, there := found["PodDisruptionBudget "+pdb]; there != (pdb == "millrace") {
			t.Errorf("a disruption budget of %s: %v", pdb, there)
		}
	}
}

// TestACertificateNamesItsService, and the dashboard's the hosts that browsers look at.
func TestACertificateNamesItsService(t *testing.T) {
	found, names := parts(t, "scaled"), 0
	for what, o := range found {
		kind, name, _ := strings.Cut(what, " ")
		service, is := strings.CutPrefix(name, "millrace-tls-")
		if kind != "Certificate" || !is {
			continue
		}
		names++
		if o.Spec.SecretRef != name || o.Spec.DNSNames[0] != service+".millrace" || !slices.Contains(o.Spec.Usages, "client auth") {
			t.Errorf("%s: %+v", what, o.Spec)
		}
		if hosts := len(o.Spec.DNSNames) > 1; hosts != (service == "dashboard") {
			t.Errorf("%s names %v", what, o.Spec.DNSNames)
		}
	}
	if names != 16 {
		t.Errorf("%d certificates, for 15 services and metrics", names)
	}
	for _, scaled := range []string{"StatefulSet millrace-flow", "Deployment millrace-flowstore"} {
		if o, there := found[scaled]; !there || o.Spec.Replicas != nil {
			t.Errorf("%s is scaled, and the chart sets %v replicas", scaled, o.Spec.Replicas)
		}
	}
}

// TestMorePodsReplaceNone: the pods of a service are what they were when it gets more of them, or an autoscaler.
func TestMorePodsReplaceNone(t *testing.T) {
	template := func(set string) string {
		out, err := render(t, append([]string{"--values", "testdata/values/parts.yaml", "--set", set, "--show-only", "templates/parts.yaml"}, kinds...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := yaml.Marshal(podSpecs(t, out)["StatefulSet millrace-flow"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := template("parts.replicas.flow=1")
	for _, set := range []string{"parts.replicas.flow=3", "parts.autoscaling.flow.min=1,parts.autoscaling.flow.max=3"} {
		if d := cmp.Diff(template(set), one); d != "" {
			t.Errorf("%s (-got +want):\n%s", set, d)
		}
	}
}
