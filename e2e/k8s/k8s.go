// Package k8s installs the chart on a real Kubernetes node and holds what then happens against what its pages say.
//
// In: the image (make image), the chart, a node in namespaces (internal/testkit/kubenode), and outside of the cluster a
// router of a kernel, FRR and the agent (lab), and a NetFlow exporter.
// Out: `make k8s` runs the cases in their order and ends with `k8s: H of N hold`. Each has a row in
// docs/reference/kubernetes.md.
// Next: an operator who asks what an upgrade, a lost pod or a lost node does.
//
// The tests need the build tag k8s: the node's programs take minutes to build.
package k8s
