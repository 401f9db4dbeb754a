package state

import (
	"context"
	"net/netip"
	"time"

	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// database shows FRR's link-state database under the area it belongs to. A
// router whose FRR does not answer for databaseKept has none: that is logged, and
// the rest of the state is complete. A reading that its client gave up says nothing of FRR.
func (r *Reader) database(ctx context.Context, n *tree.Node) error {
	if r.load == nil {
		return nil
	}
	db, err := r.cached(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.deps.Log.Warn("link-state database not readable", "error", err)
		return nil
	}
	fill(n, db)
	return nil
}

func fill(n *tree.Node, db *frr.Database) {
	for area, nodes := range db.Areas {
		protocol := instance(n).Into("protocols").Entry("protocol", "openconfig-policy-types:OSPF", "ospf")
		ted := protocol.Into("ospfv2", "areas").Entry("area", area).Into("ted", "nodes")
		for _, node := range nodes {
			fillNode(ted.Entry("node", node.ID.String()), node)
		}
	}
}

// cached reads the database at most every DatabaseAge, one reader at a time.
func (r *Reader) cached(ctx context.Context) (*frr.Database, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db != nil && time.Since(r.read) < DatabaseAge {
		return r.db, nil
	}
	db, err := r.load(ctx)
	if err != nil && r.db != nil && time.Since(r.read) < databaseKept {
		return r.db, nil // one answer that does not come is no network that is gone
	}
	if err != nil {
		return nil, err
	}
	r.db, r.read = db, time.Now()
	return db, nil
}

func fillNode(e *tree.Node, node *frr.Node) {
	s := e.Into("state").Set("router-id", node.ID.String())
	setAddress(s, "loopback", node.Loopback)
	if node.SRGBSize > 0 {
		s.Set("srgb-lower", node.SRGBLower).Set("srgb-size", node.SRGBSize)
	}
	if node.HasSID {
		s.Set("sid-index", node.Index).Set("sid-label", node.SRGBLower+node.Index)
	}
	for _, p := range node.Prefixes {
		e.Into("prefixes").Entry("prefix", p.Prefix.String()).Into("state").Set("prefix", p.Prefix.String()).Set("metric", p.Metric)
	}
	for _, l := range node.Links {
		fillLink(e.Into("links").Entry("link", l.Local.String()).Into("state"), l)
	}
}

func fillLink(s *tree.Node, l frr.Link) {
	s.Set("local-address", l.Local.String()).Set("remote-router-id", l.Neighbor.String()).Set("igp-metric", l.Metric)
	setAddress(s, "remote-address", l.Remote)
	if l.TEMetric > 0 {
		s.Set("te-metric", l.TEMetric)
	}
	if l.Bandwidth > 0 {
		s.Set("maximum-bandwidth", l.Bandwidth)
	}
	if l.Adjacency > 0 {
		s.Set("adjacency-sid", l.Adjacency)
	}
}

func setAddress(s *tree.Node, name string, a netip.Addr) {
	if a.IsValid() && !a.IsUnspecified() {
		s.Set(name, a.String())
	}
}
