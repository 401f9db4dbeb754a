//go:build k8s

package k8s

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/pki"
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

// ofServices selects the pods that host services: not those of jobs, and not those of agents.
const ofServices = "app.kubernetes.io/name=millrace,app.kubernetes.io/component notin (check,nightly,test,router-agent,pe-agent)"

// world is the cluster, what is outside of it, and what the operator has.
type world struct {
	node *kubenode.Node
	// second is a further node, of the last cases only.
	second  *kubenode.Node
	network *network
	folder  string
	// frr is the archive of a root file system that has FRR.
	frr string
	// values are the operator's files for helm, as arguments.
	values []string
	// base is where the API is outside of the cluster, and ca the file of who signed its certificate, where it has one.
	base, ca string
	// admin is a token of the role admin, password that of the first admin.
	admin, password string
	// whole lasts as long as all cases: what they share ends with it.
	whole *testing.T
	// agents is the CA of the routers that are nodes; those outside have the lab's.
	agents *pki.Authority
	// pair is what the nightly run has found, current the change set that is in force.
	pair, current string

	// parts is whether each service has pods of its own.
	parts bool

	http    *http.Client
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
	w := &world{whole: t, folder: t.TempDir(), base: fmt.Sprintf("http://%s:%d", kubenode.Address, webPort), password: "correct horse battery", agents: pki.New(t)}
	w.node, w.frr = kubenode.Start(t, filepath.Join(tools, "bin")), filepath.Join(tools, "frr.tar")
	archive, err := filepath.Abs(*image)
	if err != nil {
		t.Fatal(err)
	}
	w.node.Import(t, archive)
	w.node.ImportRoot(t, frrImage, w.frr)
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
	return w.node.Helm(t, slices.Concat([]string{"upgrade", "millrace", chart, "--wait", "--timeout", kubenode.Patience.String()}, w.values, args)...)
}

// millrace runs the program outside of the cluster as an operator does, with what he types.
func (w *world) millrace(t *testing.T, typed string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path, args...)
	cmd.Env = []string{"HOME=" + w.folder, "XDG_CONFIG_HOME=" + w.folder, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + w.ca}
	cmd.Stdin = strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// showing is a client whose requests show a token.
type showing struct {
	token string
	by    http.RoundTripper
}

func (s showing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token)
	return s.by.RoundTrip(r)
}

// dial makes the clients of the API.
func (w *world) dial(t *testing.T) {
	t.Helper()
	// A node that loses its power ends no connection.
	by := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, HTTP2: &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second},
	}
	if w.ca != "" {
		by.TLSClientConfig.RootCAs = x509.NewCertPool()
		by.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(read(t, w.ca)))
	}
	w.http = &http.Client{Transport: showing{w.admin, by}}
	w.store = flowv1connect.NewFlowStoreServiceClient(w.http, w.base)
	w.files = flowv1connect.NewFlowCollectorServiceClient(w.http, w.base)
	w.alpha = alphav1connect.NewAlphaServiceClient(w.http, w.base)
	w.changes = pushv1connect.NewChangeServiceClient(w.http, w.base)
}

// ready waits until all pods of services are, and none of these programs is there any more.
func (w *world) ready(t *testing.T, before []string) {
	t.Helper()
	kubenode.Until(t, "all pods are ready", func() (bool, any) {
		out, err := w.node.TryKubectl(t, "get", "pods", "-l", ofServices, "-o", `jsonpath={range .items[*]}{.metadata.uid}/{.status.containerStatuses[0].restartCount}={.status.conditions[?(@.type=="Ready")].status} {end}`)
		now := strings.Fields(out)
		for _, pod := range now {
			if program, is, _ := strings.Cut(pod, "="); is != "True" || slices.Contains(before, program) {
				return false, out
			}
		}
		return err == nil && len(now) > 0, out
	})
}

// programs tells each start of a pod's program from any other.
const programs = `{range .items[*]}{.metadata.uid}/{.status.containerStatuses[0].restartCount} {end}`

// programs are those of the pods that host these services, all by default, each told from any other start of it.
func (w *world) programs(t *testing.T, services ...string) []string {
	t.Helper()
	selected := ofServices
	if w.parts && len(services) > 0 {
		selected = "app.kubernetes.io/component in (" + strings.Join(services, ",") + ")"
	}
	return strings.Fields(w.node.Kubectl(t, "get", "pods", "-l", selected, "-o", "jsonpath="+programs))
}

// kill ends the programs that host these services, without a warning.
func (w *world) kill(t *testing.T, services ...string) (before []string) {
	t.Helper()
	before = w.programs(t, services...)
	argv := []string{"kill", "-KILL"}
	if w.parts {
		for _, service := range services {
			argv = append(argv, w.pid(t, "serve "+service))
		}
	} else {
		argv = append(argv, w.pid(t, "up"))
	}
	w.node.Run(t, argv...)
	return before
}

// pid is the number, on the node, of the process that runs one of the program's commands.
func (w *world) pid(t *testing.T, command string) string {
	t.Helper()
	return strings.TrimSpace(w.node.Run(t, "pgrep", "--oldest", "--full", "/millrace "+command+" "))
}

// describe prints what a person looks at first.
func (w *world) describe(t *testing.T) {
	for _, args := range [][]string{
		{"get", "all,pvc,pv", "-o", "wide"}, {"describe", "pod", "-l", "app.kubernetes.io/name=millrace"}, {"logs", "-l", ofServices, "--prefix", "--tail=40"}, {"logs", pod, "--previous", "--tail=20"},
		{"logs", "-l", "app.kubernetes.io/component in (router-agent,pe-agent)", "--prefix", "--tail=20"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, _ := w.node.TryKubectl(t, args...) // whatever there is
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}
