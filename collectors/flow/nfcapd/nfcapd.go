// Package nfcapd reads the files that nfcapd and sfcapd write.
//
// In: a file. What nfdump 1.7 writes (layout 2) is read here; every other
// layout, that of 1.6 for instance, by the nfdump program. Out: flow records,
// and batches of them whose ids come from their content. Next: `millrace flows
// import`, which sends them to collectors/flow.
package nfcapd

import (
	"context"
	"errors"
	"net/netip"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Options of reading.
type Options struct {
	// Exporter stands for the router of records that do not name it; it may be unset.
	Exporter netip.Addr
	// SamplingRate of the records. nfcapd multiplies counters by the rate before
	// it writes them, so 1 is right unless it was not given the rate.
	SamplingRate uint64
}

// DefaultOptions takes the counters as nfcapd wrote them.
func DefaultOptions() Options { return Options{SamplingRate: 1} }

// Count is the number of flows the file says it holds, for progress.
func Count(ctx context.Context, path string) (uint64, error) {
	f, err := open(path)
	if errors.Is(err, errLayout) {
		return countByNfdump(ctx, path)
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	return f.count()
}

// Read calls each with every flow of the file, in the file's order, and
// returns how many records were skipped because they are no flows. The record is
// valid until each returns.
func Read(ctx context.Context, path string, opt Options, each func(*flowrecord.Record) error) (skipped uint64, err error) {
	f, err := open(path)
	if errors.Is(err, errLayout) {
		return readByNfdump(ctx, path, opt, each)
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	return f.read(ctx, opt, each)
}

// entry is a record as the file has it.
type entry struct {
	flowrecord.Record // Bytes and Packets are what came in
	event             bool
	outBytes          uint64
	outPackets        uint64
}

var errNoRouter = errors.New("the file does not name the router of its flows: give --exporter ADDRESS")

// flow makes the record what the options say. It is false for events, and for flows without addresses or bytes or that
// end before they start.
func (e *entry) flow(opt *Options) (bool, error) {
	r := &e.Record
	if r.Bytes == 0 { // as of a datagram: postOctetDeltaCount (23), of an exporter that counts where flows go out
		r.Bytes, r.Packets = e.outBytes, e.outPackets
	}
	if e.event || r.Bytes == 0 || !r.Src.IsValid() || !r.Dst.IsValid() {
		return false, nil
	}
	if !r.Exporter.IsValid() {
		r.Exporter = opt.Exporter
	}
	if !r.Exporter.IsValid() {
		return false, errNoRouter
	}
	r.SamplingRate, r.Source = opt.SamplingRate, flowrecord.Nfcapd
	return !r.End.Before(r.Start), nil
}
