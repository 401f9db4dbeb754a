// Package nfcapd reads the files that nfcapd and sfcapd write.
//
// In: a file, through the nfdump program, because the format changes between
// nfdump's versions and the Go library for it does not resolve. Out: flow
// records, and batches of them whose ids come from their content. Next:
// `millrace flows import`, which sends them to collectors/flow.
package nfcapd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

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

// ErrNoNfdump says what is missing and where it comes from.
var ErrNoNfdump = errors.New("nfdump is needed to read nfcapd files and was not found: install it (apt-get install nfdump)")

// Count is the number of flows the file says it holds, for progress.
func Count(ctx context.Context, path string) (uint64, error) {
	out, err := run(ctx, "-I", "-r", path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(out)) {
		if n, ok := strings.CutPrefix(line, "Flows: "); ok {
			return strconv.ParseUint(strings.TrimSpace(n), 10, 64)
		}
	}
	return 0, fmt.Errorf("nfdump -I said nothing of the number of flows in %s", path)
}

func run(ctx context.Context, args ...string) ([]byte, error) {
	cmd, stderr, err := command(ctx, args...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	return out, complaint(err, stderr)
}

// command runs in UTC, because nfdump prints local time without saying which,
// and without the user's own nfdump configuration.
func command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer, error) {
	path, err := exec.LookPath("nfdump")
	if err != nil {
		return nil, nil, ErrNoNfdump
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"-C", "none", "-G", "none"}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr, nil
}

// complaint is what nfdump said on stderr: it exits with 0 on files it cannot read.
func complaint(err error, stderr *bytes.Buffer) error {
	text := strings.TrimSpace(stderr.String())
	switch {
	case text != "":
		return fmt.Errorf("nfdump: %s", strings.ReplaceAll(text, "\n", "; "))
	case err != nil:
		return fmt.Errorf("nfdump: %w", err)
	}
	return nil
}

// Read calls each with every flow of the file, in the file's order, and
// returns how many records were skipped because they are no flows.
func Read(ctx context.Context, path string, opt Options, each func(flowrecord.Record) error) (skipped uint64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, stderr, err := command(ctx, "-r", path, "-o", "json")
	if err != nil {
		return 0, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("run nfdump: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("run nfdump: %w", err)
	}
	skipped, decodeErr := decode(pipe, opt, each)
	if decodeErr != nil {
		cancel()
	}
	waitErr := complaint(cmd.Wait(), stderr)
	if stderr.Len() > 0 || decodeErr == nil {
		return skipped, waitErr
	}
	return skipped, decodeErr
}

// entry is one element of nfdump's JSON. It is the one format of version 1.7.1
// that has milliseconds and the router: csv has whole seconds, pipe no router,
// and the format tag for a fractional end prints wrong fractions.
type entry struct {
	Type       string     `json:"type"`
	First      string     `json:"first"`
	Last       string     `json:"last"`
	InPackets  uint64     `json:"in_packets"`
	InBytes    uint64     `json:"in_bytes"`
	OutPackets uint64     `json:"out_packets"`
	OutBytes   uint64     `json:"out_bytes"`
	Proto      uint8      `json:"proto"`
	TCPFlags   string     `json:"tcp_flags"`
	SrcPort    uint16     `json:"src_port"`
	DstPort    uint16     `json:"dst_port"`
	ICMPType   uint16     `json:"icmp_type"`
	ICMPCode   uint16     `json:"icmp_code"`
	SrcTOS     uint8      `json:"src_tos"`
	Src4       netip.Addr `json:"src4_addr"`
	Dst4       netip.Addr `json:"dst4_addr"`
	Src6       netip.Addr `json:"src6_addr"`
	Dst6       netip.Addr `json:"dst6_addr"`
	InputSNMP  uint32     `json:"input_snmp"`
	OutputSNMP uint32     `json:"output_snmp"`
	Router4    netip.Addr `json:"ip4_router"`
	Router6    netip.Addr `json:"ip6_router"`
	// Domain is spelt so in nfdump.
	Domain uint32 `json:"observationDoaminID"`
}

const readBuffer = 1 << 20

func decode(r io.Reader, opt Options, each func(flowrecord.Record) error) (skipped uint64, err error) {
	in := bufio.NewReaderSize(r, readBuffer)
	if empty, err := emptyList(in); err != nil || empty {
		return 0, err
	}
	dec := json.NewDecoder(in)
	if _, err := dec.Token(); err != nil {
		return 0, fmt.Errorf("read nfdump's output: %w", err)
	}
	for dec.More() {
		e := entry{}
		if err := dec.Decode(&e); err != nil {
			return skipped, fmt.Errorf("read nfdump's output: %w", err)
		}
		record, ok, err := e.record(opt)
		if err != nil {
			return skipped, err
		}
		if !ok {
			skipped++
			continue
		}
		if err := each(record); err != nil {
			return skipped, err
		}
	}
	_, err = io.Copy(io.Discard, in)
	return skipped, err
}

// emptyList recognises what nfdump prints instead of an empty JSON list.
func emptyList(in *bufio.Reader) (bool, error) {
	const none = "[\nNo matching flows"
	start, err := in.Peek(len(none))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read nfdump's output: %w", err)
	}
	return len(bytes.TrimSpace(start)) == 0 || string(start) == none, nil
}

// record is false for events, and for flows without bytes or that end before they start.
func (e *entry) record(opt Options) (flowrecord.Record, bool, error) {
	r := flowrecord.Record{
		Exporter: either(e.Router4, e.Router6, opt.Exporter), Domain: e.Domain,
		Src: either(e.Src4, e.Src6, netip.Addr{}), Dst: either(e.Dst4, e.Dst6, netip.Addr{}),
		SrcPort: e.SrcPort, DstPort: e.DstPort, Protocol: e.Proto, TOS: e.SrcTOS, TCPFlags: flags(e.TCPFlags),
		InIf: e.InputSNMP, OutIf: e.OutputSNMP, Bytes: e.InBytes, Packets: e.InPackets,
		SamplingRate: opt.SamplingRate, Source: flowrecord.Nfcapd,
	}
	if r.Bytes == 0 { // as of a datagram: postOctetDeltaCount (23), of an exporter that counts where flows go out
		r.Bytes, r.Packets = e.OutBytes, e.OutPackets
	}
	if e.Type != "FLOW" || r.Bytes == 0 || !r.Src.IsValid() || !r.Dst.IsValid() {
		return r, false, nil
	}
	if !r.Exporter.IsValid() {
		return r, false, errors.New("the file does not name the router of its flows: give --exporter ADDRESS")
	}
	if r.DstPort == 0 { // as NetFlow has it
		r.DstPort = e.ICMPType<<8 | e.ICMPCode
	}
	var err error
	if r.Start, err = parseTime(e.First); err != nil {
		return r, false, err
	}
	if r.End, err = parseTime(e.Last); err != nil {
		return r, false, err
	}
	return r, !r.End.Before(r.Start), nil
}

func either(addrs ...netip.Addr) netip.Addr {
	for _, a := range addrs {
		if a.IsValid() {
			return a.Unmap()
		}
	}
	return netip.Addr{}
}

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05.000", s)
	if err != nil {
		return t, fmt.Errorf("read nfdump's output: time %q: %w", s, err)
	}
	return t, nil
}

// flags reads "...AP.S.": a letter where the bit is set, highest bit first.
func flags(s string) uint16 {
	var bits uint16
	for _, c := range []byte(s) {
		bits <<= 1
		if c != '.' {
			bits |= 1
		}
	}
	return bits
}
