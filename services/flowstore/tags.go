package flowstore

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/scitags"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// validTags leaves out what the table cannot hold.
func validTags(all []*flowv1.FlowTag) (valid []*flowv1.FlowTag, invalid int) {
	for _, t := range all {
		if !validTag(t) {
			invalid++
			continue
		}
		valid = append(valid, t)
	}
	return valid, invalid
}

func validTag(t *flowv1.FlowTag) bool {
	for _, raw := range [][]byte{t.GetSrcAddr(), t.GetDstAddr(), t.GetReporter()} {
		if _, ok := netip.AddrFromSlice(raw); !ok {
			return false
		}
	}
	start, until := t.GetStart().AsTime(), t.GetUntil().AsTime()
	return t.GetStart().IsValid() && t.GetUntil().IsValid() && !until.Before(start) && storable(start, until) &&
		max(t.GetSrcPort(), t.GetDstPort()) <= math.MaxUint16 && t.GetProtocol() <= math.MaxUint8 &&
		t.GetCommunity() >= 1 && t.GetCommunity() <= scitags.MaxCommunity && t.GetActivity() <= scitags.MaxActivity
}

// insertTags stores what hosts say of their flows; the table's key makes repeats harmless.
func (w *flowWriter) insertTags(ctx context.Context, batches []flowBatch) error {
	var tags []*flowv1.FlowTag
	for _, b := range batches {
		tags = append(tags, b.tags...)
	}
	if len(tags) == 0 {
		return nil
	}
	if err := w.db.Insert(ctx, tagColumns(tags)); err != nil {
		w.metrics.insertErrors.WithLabelValues("flow_tags").Inc()
		return fmt.Errorf("insert tags of flows: %w", err)
	}
	w.metrics.rows.WithLabelValues("flow_tags").Add(float64(len(tags)))
	return nil
}

// endVersion is above every `until` in milliseconds.
const endVersion = 1 << 62

func tagColumns(tags []*flowv1.FlowTag) store.Batch {
	n := len(tags)
	addresses := [3][]netip.Addr{make([]netip.Addr, n), make([]netip.Addr, n), make([]netip.Addr, n)}
	srcPorts, dstPorts, communities := make([]uint16, n), make([]uint16, n), make([]uint16, n)
	protocols, activities, ended := make([]uint8, n), make([]uint8, n), make([]uint8, n)
	starts, untils, versions, applications := make([]time.Time, n), make([]time.Time, n), make([]uint64, n), make([]string, n)
	for i, t := range tags {
		for j, raw := range [...][]byte{t.GetSrcAddr(), t.GetDstAddr(), t.GetReporter()} {
			addresses[j][i], _ = netip.AddrFromSlice(raw)
		}
		srcPorts[i], dstPorts[i], protocols[i] = uint16(t.GetSrcPort()), uint16(t.GetDstPort()), uint8(t.GetProtocol())
		starts[i], untils[i] = t.GetStart().AsTime(), t.GetUntil().AsTime()
		communities[i], activities[i], applications[i] = uint16(t.GetCommunity()), uint8(t.GetActivity()), t.GetApplication()
		versions[i] = uint64(untils[i].UnixMilli())
		if t.GetEnded() {
			ended[i], versions[i] = 1, versions[i]+endVersion
		}
	}
	return store.Batch{Table: "flow_tags", Columns: []store.Column{
		{Name: "src", Type: "IPv6", Values: addresses[0]}, {Name: "dst", Type: "IPv6", Values: addresses[1]},
		{Name: "src_port", Type: "UInt16", Values: srcPorts}, {Name: "dst_port", Type: "UInt16", Values: dstPorts},
		{Name: "protocol", Type: "UInt8", Values: protocols},
		{Name: "start", Type: milliseconds, Values: starts}, {Name: "until", Type: milliseconds, Values: untils}, {Name: "ended", Type: "UInt8", Values: ended},
		{Name: "community", Type: "UInt16", Values: communities}, {Name: "activity", Type: "UInt8", Values: activities},
		{Name: "application", Type: "LowCardinality(String)", Values: applications}, {Name: "reporter", Type: "IPv6", Values: addresses[2]},
		{Name: "version", Type: "UInt64", Values: versions},
	}}
}
