package gnmi

import (
	"fmt"
	"math"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Limits of sampling. An interval of 0 means the lowest the target supports.
const (
	lowestInterval  = 100 * time.Millisecond
	definedInterval = 10 * time.Second // TARGET_DEFINED counters
	// Not every change of state has an event: a metric that another router floods has none here, and the messages of
	// the kernel can be lost. So state ON_CHANGE is read at least this often.
	lookInterval = 10 * time.Second
)

// part is one subscription of the list.
type part struct {
	path      tree.Path
	keep      tree.Filter
	onChange  bool
	suppress  bool
	interval  time.Duration // of samples; 0 for ON_CHANGE
	heartbeat time.Duration
	next      time.Time
	beat      time.Time
	// looks is true for state ON_CHANGE, which is read again at look, whether or not an event came.
	looks bool
	look  time.Time
	last  *tree.Node // the reading that was sent last; the readings of all clients share what is the same
}

// silent is true for a part of which nothing can ever be said: every leaf under its path is left out.
func (p *part) silent() bool { return !p.has(tree.All) }

// has is true if there can be a leaf of a kind under the part's path.
func (p *part) has(kind tree.Filter) bool {
	for s := range implemented() {
		if s.Type != nil && kind(s) && p.kept(s) && under(s, p.path.Schema()) {
			return true
		}
	}
	return false
}

func under(s, top *tree.Schema) bool {
	for ; s != nil; s = s.Parent {
		if s == top {
			return true
		}
	}
	return false
}

func newParts(path tree.Path, q *gnmi.Subscription, mode gnmi.SubscriptionList_Mode) ([]*part, error) {
	p := &part{path: path, keep: tree.All, suppress: q.GetSuppressRedundant()}
	if mode != gnmi.SubscriptionList_STREAM {
		return []*part{p}, nil
	}
	var err error
	if p.heartbeat, err = interval(q.GetHeartbeatInterval()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%s: heartbeat: %v", path, err)
	}
	switch q.GetMode() {
	case gnmi.SubscriptionMode_SAMPLE:
		if p.interval, err = interval(q.GetSampleInterval()); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s: sample: %v", path, err)
		}
		if p.interval == 0 {
			p.interval = lowestInterval
		}
		return []*part{p}, nil
	case gnmi.SubscriptionMode_ON_CHANGE:
		if IsMeter(path.Schema()) {
			return nil, status.Errorf(codes.InvalidArgument, "%s changes with every packet; subscribe with SAMPLE", path)
		}
		p.onChange, p.keep = true, notMeter
		return []*part{p}, nil
	case gnmi.SubscriptionMode_TARGET_DEFINED:
		if q.GetSampleInterval() != 0 {
			return nil, status.Errorf(codes.InvalidArgument, "%s: TARGET_DEFINED takes no sample interval", path)
		}
		meters := &part{path: path, keep: IsMeter, interval: definedInterval, suppress: p.suppress, heartbeat: p.heartbeat}
		p.onChange, p.keep = true, notMeter
		return []*part{p, meters}, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "%s: mode %s", path, q.GetMode())
}

// interval reads nanoseconds; what is too small, or too large to be counted, is refused.
func interval(ns uint64) (time.Duration, error) {
	d := time.Duration(ns)
	if ns > math.MaxInt64 {
		return 0, fmt.Errorf("interval of %d ns is too long; the longest is %d ns, 292 years", ns, int64(math.MaxInt64))
	}
	if ns > 0 && d < lowestInterval {
		return 0, fmt.Errorf("interval of %d ns; the lowest is %s", ns, lowestInterval)
	}
	return d, nil
}

// IsMeter is true for leaves that change with every packet: counters, and the occupancy of queues.
func IsMeter(s *tree.Schema) bool {
	if s.Type == nil || s.Config {
		return false
	}
	return s.Type.Name == "counter64" || s.Name == "avg-queue-len" || s.Name == "max-queue-len" || s.Name == "queue-len"
}

func notMeter(s *tree.Schema) bool { return !IsMeter(s) }

// kept is true for leaves that are sent: a key below the path says again what its own path says.
func (p *part) kept(s *tree.Schema) bool {
	return p.keep(s) && (s == p.path.Schema() || !s.IsKey())
}

// values calls yield for every leaf of a reading; an error of yield ends it.
func (p *part) values(data *tree.Node, enc gnmi.Encoding, yield func(*gnmi.Update) error) error {
	for _, m := range append(data.Find(p.path), unset(data, p.path, p.kept)...) {
		err := m.Values(func(path *gnmi.Path, leaf *tree.Node) error {
			if !p.kept(leaf.Schema) {
				return nil
			}
			v, _ := leaf.Encode(tree.All, enc)
			return yield(&gnmi.Update{Path: path, Val: v})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changes compares a reading with the last one. A leaf that returned to its
// default is an update, never only a deletion (section 3.5.2.3).
func (p *part) changes(now *tree.Node, enc gnmi.Encoding) (send, gone map[string]leaf) {
	lost, written := tree.Changes(p.last, now, p.path, p.kept)
	send, gone = map[string]leaf{}, map[string]leaf{}
	for _, path := range lost {
		if back := unset(now, path, p.kept); len(back) == 1 {
			written = append(written, back...)
			continue
		}
		gone[path.String()] = leaf{path: path}
	}
	// An entry that is new brings the default of the leaf that was subscribed to.
	written = append(written, unset(now, p.path, p.kept)...)
	for _, m := range written {
		if p.told(m) {
			continue
		}
		v, _ := m.Node.Encode(tree.All, enc)
		send[m.Path.String()] = leaf{m.Path, &gnmi.Update{Path: m.Path.Proto(), Val: v}}
	}
	return send, gone
}

// told is true if the client has this value already, set or by default.
func (p *part) told(m tree.Match) bool {
	if _, ok := defaults()[m.Node.Schema]; !ok {
		return false
	}
	before := p.last.Find(m.Path)
	if len(before) == 0 && m.Node.Schema == p.path.Schema() {
		before = unset(p.last, m.Path, p.kept)
	}
	return len(before) == 1 && before[0].Node.Value == m.Node.Value
}

// all is every leaf of a reading by its path.
func (p *part) all(now *tree.Node, enc gnmi.Encoding) map[string]leaf {
	out := map[string]leaf{}
	_ = p.values(now, enc, func(u *gnmi.Update) error {
		path, err := tree.Resolve(nil, u.GetPath())
		out[path.String()] = leaf{path, u}
		return err
	})
	return out
}
