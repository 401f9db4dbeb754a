package flowstore

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/scitags"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

//go:embed tagtraffic.sql
var tagTrafficSQL string

const (
	// maxTags bounds an answer, maxPairTags what it says of a pair: more than the registry has of any community.
	maxTags     = 10_000
	maxPairTags = 64
	// tagPairsPerQuery keeps a statement, which has each pair three times, below ClickHouse's max_query_size of 256 KB.
	tagPairsPerQuery = 500
)

// Fireflies of a window's records are of flows that began within so much of it.
const (
	tagsBefore = 7 * 24 * time.Hour
	tagsAfter  = 24 * time.Hour
)

// tagSums are what records sent, by exporter, pair and tag; the zero tag is none.
type tagSums map[tagKey]*flowv1.TagTraffic

type tagKey struct {
	exporter, src, dst netip.Addr
	tag                scitags.Tag
}

// TagTraffic implements FlowStoreService.
func (a *api) TagTraffic(ctx context.Context, req *connect.Request[flowv1.TagTrafficRequest]) (*connect.Response[flowv1.TagTrafficResponse], error) {
	db, err := a.database()
	if err != nil {
		return nil, err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	sums := tagSums{}
	if err := a.tagSums(ctx, db, from, to, tagQuery{records: startsInWindow, fireflies: "1"}, sums); err != nil {
		return nil, fmt.Errorf("what flows of each tag sent: %w", err)
	}
	answer := &flowv1.TagTrafficResponse{}
	for key, t := range sums {
		answer.Bytes = plus(answer.GetBytes(), t.GetBytes())
		if key.tag.Community > 0 {
			t.Exporter = key.exporter.Unmap().String()
			answer.Tags = append(answer.Tags, t)
		}
	}
	answer.Tags = mostFirst(answer.GetTags(), maxTags)
	return connect.NewResponse(answer), nil
}

// PairTags implements FlowStoreService.
func (a *api) PairTags(ctx context.Context, req *connect.Request[flowv1.PairTagsRequest]) (*connect.Response[flowv1.PairTagsResponse], error) {
	db, err := a.everything()
	if err != nil {
		return nil, err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	pairs, err := pairsWithExporters(req.Msg.GetPairs())
	if err != nil {
		return nil, err
	}
	found := map[pair]*flowv1.PairTags{}
	if some, err := a.anyTag(ctx, db, from, to); err != nil {
		return nil, err
	} else if some {
		if found, err = a.pairTags(ctx, db, from, to, pairs); err != nil {
			return nil, err
		}
	}
	answer := &flowv1.PairTagsResponse{}
	for _, p := range pairs {
		t := found[p]
		if t == nil {
			t = &flowv1.PairTags{}
		}
		answer.Pairs = append(answer.Pairs, t)
	}
	return connect.NewResponse(answer), nil
}

// anyTag is false where no flow of the window can have a tag: most networks have none, and a look at the flows of a day
// takes seconds.
func (a *api) anyTag(ctx context.Context, db store.DB, from, to time.Time) (bool, error) {
	if len(a.c.cfg.SciTags.LabelSources) > 0 {
		return true, nil
	}
	rows, err := db.Query(ctx, "SELECT 1 FROM flow_tags WHERE start >= ? AND start < ? LIMIT 1", from.Add(-tagsBefore), to.Add(tagsAfter))
	if err != nil {
		return false, fmt.Errorf("look for tags: %w", err)
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}

// pairTags queries for pairs of equal prefix lengths at once.
func (a *api) pairTags(ctx context.Context, db store.DB, from, to time.Time, pairs []pair) (map[pair]*flowv1.PairTags, error) {
	out := map[pair]*flowv1.PairTags{}
	for of, group := range byShape(pairs) {
		for some := range slices.Chunk(group, tagPairsPerQuery) {
			if err := a.pairTagsOf(ctx, db, from, to, of, some, out); err != nil {
				return nil, fmt.Errorf("whose flows pairs had: %w", err)
			}
		}
	}
	for _, t := range out {
		t.Tags = mostFirst(t.GetTags(), maxPairTags)
	}
	return out, nil
}

func (a *api) pairTagsOf(ctx context.Context, db store.DB, from, to time.Time, of shape, pairs []pair, out map[pair]*flowv1.PairTags) error {
	named, tuples, err := namedPairs(pairs)
	if err != nil {
		return err
	}
	q := tagQuery{shape: of, records: touchesWindow + " AND (exporter, s, d) IN (" + strings.Join(tuples, ",") + ")"}
	if q.fireflies, err = about(of, pairs); err != nil {
		return err
	}
	sums := tagSums{}
	if err := a.tagSums(ctx, db, from, to, q, sums); err != nil {
		return err
	}
	for key, t := range sums {
		p := named[[3]netip.Addr{key.exporter.Unmap(), key.src.Unmap(), key.dst.Unmap()}]
		if out[p] == nil {
			out[p] = &flowv1.PairTags{}
		}
		out[p].Bytes = plus(out[p].GetBytes(), t.GetBytes())
		if key.tag.Community > 0 {
			out[p].Tags = append(out[p].Tags, t)
		}
	}
	return nil
}

func mostFirst(tags []*flowv1.TagTraffic, most int) []*flowv1.TagTraffic {
	slices.SortFunc(tags, func(a, b *flowv1.TagTraffic) int {
		return cmp.Or(cmp.Compare(b.GetBytes(), a.GetBytes()), cmp.Compare(a.GetCommunity(), b.GetCommunity()),
			cmp.Compare(a.GetActivity(), b.GetActivity()), cmp.Compare(a.GetExporter(), b.GetExporter()))
	})
	return tags[:min(len(tags), most)]
}

// tagQuery says which records are added up, by prefixes of what length, and which fireflies may be about them.
type tagQuery struct {
	shape              shape
	records, fireflies string
}

// about is the condition that a firefly is about a flow of one of the pairs, from whichever of its ends: there may be
// millions about others.
func about(of shape, pairs []pair) (string, error) {
	tuples := make([]string, len(pairs))
	for i, p := range pairs {
		var err error
		if tuples[i], err = tuple([]netip.Addr{p.src.Addr(), p.dst.Addr()}); err != nil {
			return "", err
		}
	}
	const condition = "((IPv6CIDRToRange(src, %[1]d).1, IPv6CIDRToRange(dst, %[2]d).1) IN (%[3]s) OR (IPv6CIDRToRange(dst, %[1]d).1, IPv6CIDRToRange(src, %[2]d).1) IN (%[3]s))"
	return fmt.Sprintf(condition, of.srcBits, of.dstBits, strings.Join(tuples, ",")), nil
}

// plus is the sum, or the largest number there is.
func plus(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// tagSums adds up what a query over records finds.
func (a *api) tagSums(ctx context.Context, db store.DB, from, to time.Time, q tagQuery, sums tagSums) error {
	labelled, err := a.c.cfg.SciTags.labelled()
	if err != nil {
		return err
	}
	rows, err := db.Query(ctx, fmt.Sprintf(tagTrafficSQL, scitags.LabelMask, labelled, q.records, q.fireflies), from, to, q.shape.srcBits, q.shape.dstBits,
		from.Add(-tagsBefore), to.Add(tagsAfter))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key tagKey
		var byFirefly uint8
		var tag uint32
		var octets, records uint64
		if err := rows.Scan(&key.exporter, &key.src, &key.dst, &byFirefly, &tag, &octets, &records); err != nil {
			return err
		}
		if key.tag = scitags.OfLabel(tag); byFirefly == 1 {
			key.tag = scitags.Tag{Community: uint16(tag / 64), Activity: uint8(tag % 64)}
		}
		t := sums[key]
		if t == nil {
			t = &flowv1.TagTraffic{
				Community: uint32(key.tag.Community), Activity: uint32(key.tag.Activity),
				CommunityName: a.c.registry.Community(key.tag), ActivityName: a.c.registry.Activity(key.tag),
			}
			sums[key] = t
		}
		t.Bytes = plus(t.GetBytes(), octets)
		t.Records += records
		if byFirefly == 1 {
			t.FireflyBytes = plus(t.GetFireflyBytes(), octets)
		}
	}
	return rows.Err()
}
