//go:build k8s

package k8s

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

const (
	chart = "../../deploy/helm/millrace"
	pod   = "millrace-0"
	// Ports of the node, which the values of the operator choose.
	webPort, flowPort = 30080, 30055
)

// base is where the API is outside of the cluster.
var base = fmt.Sprintf("http://%s:%d", kubenode.Address, webPort)

// world is the cluster, what is outside of it, and what the operator has.
type world struct {
	node    *kubenode.Node
	network *network
	folder  string
	// values is the operator's file for helm.
	values string
	// admin is a token of the role admin, password that of the first admin.
	admin, password string
	// pair is what the nightly run has found, current the change set that is in force.
	pair, current string

	store   flowv1connect.FlowStoreServiceClient
	files   flowv1connect.FlowCollectorServiceClient
	alpha   alphav1connect.AlphaServiceClient
	changes pushv1connect.ChangeServiceClient
}

func newWorld(t *testing.T) *world {
	t.Helper()
	tools := os.Getenv("MILLRACE_K8S")
	if tools == "" {
		tools = "../../.cache/k8s"
	}
	w := &world{folder: t.TempDir(), password: "correct horse battery"}
	w.node = kubenode.Start(t, filepath.Join(tools, "bin"))
	archive, err := filepath.Abs(*image)
	if err != nil {
		t.Fatal(err)
	}
	w.node.Import(t, archive)
	w.node.Run(t, "ctr", "--namespace", "k8s.io", "images", "tag", "docker.io/library/millrace:"+appVersion(t), "docker.io/library/millrace:next")
	w.network = newNetwork(t)
	return w
}

// appVersion is the tag that the chart takes where no value gives one.
func appVersion(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if v, is := strings.CutPrefix(line, "appVersion: "); is {
			return strings.Trim(v, `"`)
		}
	}
	t.Fatal("Chart.yaml has no appVersion")
	return ""
}

// helm runs helm, which must succeed.
func (w *world) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.node.Helm(t, args...)
	if err != nil {
		w.describe(t)
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// upgrade gives the release the operator's values and these.
func (w *world) upgrade(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return w.node.Helm(t, append([]string{"upgrade", "millrace", chart, "--values", w.values, "--wait", "--timeout", kubenode.Patience.String()}, args...)...)
}

// millrace runs the program outside of the cluster as an operator does, with what he types.
func (w *world) millrace(t *testing.T, typed string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path, args...)
	cmd.Env = []string{"HOME=" + w.folder, "XDG_CONFIG_HOME=" + w.folder, "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// showing is a client whose requests show a token.
type showing string

func (token showing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// dial makes the clients of the API.
func (w *world) dial() {
	client := &http.Client{Transport: showing(w.admin)}
	w.store = flowv1connect.NewFlowStoreServiceClient(client, base)
	w.files = flowv1connect.NewFlowCollectorServiceClient(client, base)
	w.alpha = alphav1connect.NewAlphaServiceClient(client, base)
	w.changes = pushv1connect.NewChangeServiceClient(client, base)
}

// ready waits until the pod is, which is not the one of this identity.
func (w *world) ready(t *testing.T, before string) {
	t.Helper()
	kubenode.Until(t, "the pod is ready", func() (bool, any) {
		out, err := w.node.TryKubectl(t, "get", "pod", pod, "-o", `jsonpath={.metadata.uid}/{.status.containerStatuses[0].restartCount} {.status.conditions[?(@.type=="Ready")].status}`)
		identity, is, _ := strings.Cut(out, " ")
		return err == nil && identity != before && is == "True", out
	})
}

// identity tells this start of the pod's program from any other.
func (w *world) identity(t *testing.T) string {
	t.Helper()
	return w.node.Kubectl(t, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}/{.status.containerStatuses[0].restartCount}")
}

// kill ends the pod's program without a warning.
func (w *world) kill(t *testing.T) (before string) {
	t.Helper()
	before = w.identity(t)
	w.node.Run(t, "kill", "-KILL", w.pid(t))
	return before
}

// pid is the number of the pod's program on the node.
func (w *world) pid(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(w.node.Run(t, "pgrep", "--oldest", "--exact", "millrace"))
}

// describe prints what a person looks at first.
func (w *world) describe(t *testing.T) {
	for _, args := range [][]string{
		{"get", "all,pvc,pv", "-o", "wide"}, {"describe", "pod", pod}, {"logs", pod, "--tail=40"}, {"logs", pod, "--previous", "--tail=20"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, _ := w.node.TryKubectl(t, args...) // whatever there is
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}
