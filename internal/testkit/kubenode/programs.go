package kubenode

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// frontProxy is the API server's name towards APIs behind it.
const frontProxy = "front-proxy-client"

// control starts etcd, the API server, the controller manager and the scheduler.
func (n *Node) control(t *testing.T) {
	t.Helper()
	// The disk's data outlive the processes, and the host's kernel outlives the node.
	n.launch(t, "etcd", n.Program("etcd"), "--data-dir=/var/lib/etcd", "--unsafe-no-fsync",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380")
	n.launch(t, "kube-apiserver", n.Program("kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379", "--advertise-address="+Address, "--service-cluster-ip-range="+services,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--client-ca-file="+n.pki.CA, "--tls-cert-file="+n.cert("kube-apiserver"), "--tls-private-key-file="+n.key("kube-apiserver"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+n.cert("service-accounts"), "--service-account-signing-key-file="+n.key("service-accounts"),
		"--kubelet-client-certificate="+n.cert("kubelet-client"), "--kubelet-client-key="+n.key("kubelet-client"),
		"--kubelet-certificate-authority="+n.pki.CA, "--kubelet-preferred-address-types=InternalIP",
		// Who it is that asks, the API server tells an API behind it in headers.
		"--requestheader-client-ca-file="+n.pki.CA, "--requestheader-allowed-names="+frontProxy, "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+n.cert(frontProxy), "--proxy-client-key-file="+n.key(frontProxy))
	n.await(t, "the API server is ready", "get", "--raw", "/readyz")
	n.launch(t, "kube-controller-manager", n.Program("kube-controller-manager"), "--kubeconfig="+n.kubeconfig("system:kube-controller-manager"),
		"--leader-elect=false", "--use-service-account-credentials", "--service-account-private-key-file="+n.key("service-accounts"), "--root-ca-file="+n.pki.CA)
	n.launch(t, "kube-scheduler", n.Program("kube-scheduler"), "--kubeconfig="+n.kubeconfig("system:kube-scheduler"), "--leader-elect=false")
}

// worker starts containerd, kubelet, kube-router and kube-proxy, and waits for the node.
func (n *Node) worker(t *testing.T) {
	t.Helper()
	n.makeCgroups(t)
	n.launch(t, "containerd", "containerd", "--config", filepath.Join(n.Folder, "containerd.toml"))
	Until(t, "containerd answers", func() (bool, any) {
		argv := n.within("timeout", "5", "ctr", "version")
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
		return err == nil, string(out)
	})
	// Containerd answers before it has taken up what ran there.
	n.supervise(t, "kubelet", "--config="+filepath.Join(n.Folder, "kubelet.yaml"), "--kubeconfig="+n.kubeconfig("system:node:"+n.Name),
		"--node-ip="+n.Address, "--hostname-override="+n.Name)
	// A node is known once kubelet has said so.
	n.supervise(t, "kube-router", "--kubeconfig="+n.kubeconfig("system:kube-router"), "--hostname-override="+n.Name,
		"--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--enable-cni=false", "--service-cluster-ip-range="+services)
	// Limits of conntrack cannot be written in a namespace: 0 leaves them.
	n.launch(t, "kube-proxy", n.Program("kube-proxy"), "--kubeconfig="+n.kubeconfig("system:kube-proxy"), "--proxy-mode=nftables", "--hostname-override="+n.Name,
		"--cluster-cidr="+allPods, "--conntrack-max-per-core=0", "--conntrack-min=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0")
	n.await(t, "the node is ready", "wait", "--for=condition=Ready", "node/"+n.Name, "--timeout=5s")
}

// await repeats a command of kubectl until it succeeds, while the node's programs run.
func (n *Node) await(t *testing.T, what string, args ...string) {
	t.Helper()
	Until(t, what, func() (bool, any) {
		for _, p := range n.running {
			if p.Ended() {
				t.Fatalf("%s ended: %s\n%s", p.Name, p.State(), p.Tail())
			}
		}
		out, err := n.kubectl(t.Context(), "", args...)
		return err == nil, strings.TrimSpace(out)
	})
}

// Program is the file of one of the programs that tools/k8s/fetch.sh builds.
func (n *Node) Program(name string) string { return filepath.Join(n.bin, name) }

// cert and key are the files of a name of the cluster's CA.
func (n *Node) cert(name string) string { return filepath.Join(filepath.Dir(n.pki.CA), name+".pem") }
func (n *Node) key(name string) string  { return filepath.Join(filepath.Dir(n.pki.CA), name+".key") }

// kubeconfig is how a name reaches the API server.
func (n *Node) kubeconfig(name string) string { return filepath.Join(n.Folder, name+".kubeconfig") }
