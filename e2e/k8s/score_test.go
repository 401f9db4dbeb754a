//go:build k8s

package k8s

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// accepted are the checks of kube-score that the chart does not pass, of all kinds or of one, and why.
var accepted = []struct{ check, kind, why string }{
	{"container-ephemeral-storage-request-and-limit", "", "the root is read-only, data lie on a volume, /tmp has a socket at most, and kubelet rotates the logs"},
	{"container-image-pull-policy", "", "a tag is a version, which does not change; image.pullPolicy sets another policy"},
	{"container-resources", "", "no limit of the processor: a pod that is held back while others have nothing to do answers late; no limit of memory for the PE agent, whose programs' maps the kernel adds to it"},
	{"pod-networkpolicy", "", "routers are anywhere, so what leaves a pod is not limited; jobs listen on nothing; an agent is on the node's own network"},
	{"pod-probes-identical", "DaemonSet", "an agent is ready when it serves; it is started again after a minute without an answer only"},
	{"container-security-context-user-group-id", "DaemonSet", "an agent configures the node's kernel"},
	{"deployment-has-host-podantiaffinity", "", "topology spread constraints keep replicas apart"},
	{"statefulset-has-host-podantiaffinity", "", "as above"},
	{"deployment-replicas", "", "parts.replicas is the operator's decision"},
	{"statefulset-has-servicename", "", "nobody asks a pod by its name"},
	{"service-type", "", "exporters are outside of the cluster; dashboard.service.type is the operator's decision"},
}

// scored is what kube-score says of one object.
type scored struct {
	Name string                `json:"object_name"`
	Type struct{ Kind string } `json:"type_meta"`
	// A grade of 10 is a check that is passed.
	Checks []struct {
		Check    struct{ ID string }
		Grade    int
		Skipped  bool
		Comments []struct{ Path, Summary string }
	}
}

// scores has kube-score judge what the chart renders with the values of its own tests.
func (w *world) scores(t *testing.T) {
	values, err := filepath.Glob("../chart/testdata/values/*.yaml")
	if err != nil || len(values) < 6 {
		t.Fatalf("%d files, %v", len(values), err)
	}
	needed := make([]bool, len(accepted))
	for _, file := range values {
		for _, object := range w.score(t, file) {
			for _, c := range object.Checks {
				if c.Grade == 10 || c.Skipped {
					continue
				}
				known := false
				for i, a := range accepted {
					if a.check == c.Check.ID && (a.kind == "" || a.kind == object.Type.Kind) {
						known, needed[i] = true, true
					}
				}
				if !known {
					t.Errorf("%s: %s: %s: %v", filepath.Base(file), object.Name, c.Check.ID, c.Comments)
				}
			}
		}
	}
	for i, a := range accepted {
		if !needed[i] {
			t.Errorf("%s: %q is accepted, and passed by all", a.check, a.kind)
		}
	}
}

// score is kube-score's judgement of what the chart renders with a file of values.
func (w *world) score(t *testing.T, values string) (all []scored) {
	t.Helper()
	args := []string{"template", "millrace", chart, "--namespace", "te", "--values", values}
	for _, kind := range []string{"gateway.networking.k8s.io/v1/HTTPRoute", "monitoring.coreos.com/v1/ServiceMonitor", "monitoring.coreos.com/v1/PrometheusRule", "cert-manager.io/v1/Certificate"} {
		args = append(args, "--api-versions", kind)
	}
	manifest := filepath.Join(t.TempDir(), filepath.Base(values))
	if err := os.WriteFile(manifest, []byte(w.helm(t, args...)), 0o600); err != nil {
		t.Fatal(err)
	}
	// It ends with 1 if a check fails.
	out, _ := exec.CommandContext(t.Context(), w.node.Program("kube-score"), "score", "--output-format", "json", "--kubernetes-version", "v1.34", manifest).Output()
	if err := json.Unmarshal(out, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d objects: %v\n%s", len(all), err, out)
	}
	return all
}
