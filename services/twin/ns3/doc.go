// Package ns3 holds the twin against Debian's ns-3 on the same dumbbell: an
// optional suite, because ns-3 is slow and no part of the product.
//
//	go test -tags ns3 -v ./services/twin/ns3
//
// In: a compiler and libns3-dev, with which tools/ns3 is built on the spot; where
// one is missing the suite skips and names it. Out: goodput in both, within 5 %.
// Next: docs/reference/performance.md and docs/explanation/twin.md.
package ns3
