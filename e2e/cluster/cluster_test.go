// Package cluster runs Millrace on several hosts and takes them away: processes, stores and whole hosts are killed,
// stand still and are cut off while an import, a nightly run, a change set and a change of weights go on.
//
// Hosts are network namespaces on one bridge. Three have a member of etcd and of Kafka each; two have every service;
// the third has the flow store, whose engine is one. All of them prove themselves to each other by certificates, and
// the test logs in as people do.
//
// In: the millrace binary, Kafka's jars, the engine of ClickHouse; routers that speak gNMI (services/push/pushtest).
// Out: a row for each fault and work. `make cluster` runs all, writes docs/reference/cluster.md and ends with how many
// hold.
// Next: an operator who asks what a second host is good for.
package cluster

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

var (
	all   = flag.Bool("all", false, "run every fault")
	page  = flag.String("page", "", "write the table to this file")
	build = flag.String("build", "unknown", "the commit of the binary, for the page")
	// before is of the release that is upgraded; with it, the cases are those of an upgrade.
	before = flag.String("before", "", "the binary of an older release, by its whole path: upgrade it while work goes on, and go back")
	only   = flag.String("only", "", "run the rows whose work and fault match this expression")
)

func TestMain(m *testing.M) {
	if etcd.ServeMember() {
		return
	}
	flag.Parse()
	code, ran, err := faults.OwnNetwork()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if ran { // in a network whose cables can be cut
		os.Exit(code)
	}
	code = program.Main(m)
	if *all {
		fmt.Printf("cluster: %d of %d hold\n", held(), len(rows))
	}
	os.Exit(code)
}

// TestCluster is for `make cluster`: it takes half an hour. What one service does when its replica dies is in the tests
// that docs/reference/replicas.md names, which `make test` runs.
func TestCluster(t *testing.T) {
	if !*all {
		return
	}
	want := regexp.MustCompile(*only)
	w := newWorld(t)
	todo := cases()
	if *before != "" {
		todo = upgrades()
	}
	for _, c := range todo {
		if want.MatchString(c.work.name + ", " + c.fault.name) {
			w.test(t, c)
		}
	}
}
