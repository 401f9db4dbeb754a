package kubenode

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// admin may do everything in the cluster.
const admin = "admin"

// Kubectl runs kubectl outside of the cluster and returns what it prints.
func (n *Node) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := n.kubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// TryKubectl is Kubectl for what may be refused.
func (n *Node) TryKubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	return n.kubectl(t.Context(), "", args...)
}

// Try is TryKubectl with an input.
func (n *Node) Try(t testing.TB, input string, args ...string) (string, error) {
	t.Helper()
	return n.kubectl(t.Context(), input, args...)
}

// Apply makes objects of a manifest.
func (n *Node) Apply(t testing.TB, manifest string) {
	t.Helper()
	if out, err := n.kubectl(t.Context(), manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func (n *Node) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	return n.client(ctx, "kubectl", input, args...)
}

// Helm runs helm outside of the cluster.
func (n *Node) Helm(t testing.TB, args ...string) (string, error) {
	t.Helper()
	return n.client(t.Context(), "helm", "", args...)
}

// client runs a program that reaches the cluster as its admin, and nothing of the user's own configuration.
func (n *Node) client(ctx context.Context, name, input string, args ...string) (string, error) {
	cmd := n.Command(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Command is one of the node's clients, kubectl or helm, that is not started yet.
func (n *Node) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.Program(name), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.Folder, "KUBECONFIG=" + n.kubeconfig(admin)}
	return cmd
}

// Import gives the node an image from an archive.
func (n *Node) Import(t *testing.T, archive string) {
	t.Helper()
	n.Run(t, "ctr", "--namespace", "k8s.io", "images", "import", archive)
}
