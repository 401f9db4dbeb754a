// Package lab builds a network of virtual routers on real kernels: FRR for
// routing, Linux for forwarding and queueing, one network namespace per router
// and host.
//
// A lab has three layers. The *supervisor* is PID 1 of its own PID, mount and
// network namespaces on this machine; when it dies, the kernel removes
// everything else, so nothing can leak. Inside runs the *guest*: this program
// again, as init of a User-Mode Linux kernel (backend uml) or of another set of
// namespaces on this kernel (backend native). The guest takes orders over a
// small protocol on the management network and starts programs in the *nodes*'
// namespaces. Everything the guest gets is computed beforehand by pure code
// from the scenario (plan.go, frr.go).
//
//	supervisor ── lab netns: tap or veth 172.31.255.1 (control plane runs here)
//	   └─ guest ── management bridge 172.31.255.2
//	        ├─ WR ER CR …  mgmt0 172.31.255.11…, links, FRR, agent, exporter
//	        ├─ W1 E1 …     hosts
//	        └─ wire        the middle of every link with delay or loss
//
// In: a scenario.Scenario. Out: a running Lab, results of phases, kernel dumps.
// Next: cmd/millrace and the tests under e2e, which run the control plane in
// the lab's network namespace.
package lab
