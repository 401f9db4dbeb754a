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

// ErrNoNfdump says what is missing and where it comes from.
var ErrNoNfdump = errors.New("the file is not of nfdump 1.7, so that the nfdump program is needed to read it and was not found: install it (apt-get install nfdump)")

func countByNfdump(ctx context.Context, path string) (uint64, error) {
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

// readByNfdump reads what the nfdump program prints of the file.
func readByNfdump(ctx context.Context, path string, opt Options, each func(*flowrecord.Record) error) (skipped uint64, err error) {
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

// printed is one element of nfdump's JSON. It is the one format of version 1.7.1
// that has milliseconds and the router: csv has whole seconds, pipe no router,
// and the format tag for a fractional end prints wrong fractions.
type printed struct {
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

func decode(r io.Reader, opt Options, each func(*flowrecord.Record) error) (skipped uint64, err error) {
	in := bufio.NewReaderSize(r, readBuffer)
	if empty, err := emptyList(in); err != nil || empty {
		return 0, err
	}
	dec := json.NewDecoder(in)
	if _, err := dec.Token(); err != nil {
		return 0, fmt.Errorf("read nfdump's output: %w", err)
	}
	for dec.More() {
		p := printed{}
		if err := dec.Decode(&p); err != nil {
			return skipped, fmt.Errorf("read nfdump's output: %w", err)
		}
		e, err := p.entry()
		if err != nil {
			return skipped, err
		}
		ok, err := e.flow(&opt)
		if err != nil {
			return skipped, err
		}
		if !ok {
			skipped++
			continue
		}
		if err := each(&e.Record); err != nil {
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

func (p *printed) entry() (*entry, error) {
	e := &entry{event: p.Type != "FLOW", outBytes: p.OutBytes, outPackets: p.OutPackets, Record: flowrecord.Record{
		Exporter: either(p.Router4, p.Router6), Domain: p.Domain, Src: either(p.Src4, p.Src6), Dst: either(p.Dst4, p.Dst6),
		SrcPort: p.SrcPort, DstPort: p.DstPort, Protocol: p.Proto, TOS: p.SrcTOS, TCPFlags: flags(p.TCPFlags),
		InIf: p.InputSNMP, OutIf: p.OutputSNMP, Bytes: p.InBytes, Packets: p.InPackets,
	}}
	if e.DstPort == 0 { // as NetFlow has it
		e.DstPort = p.ICMPType<<8 | p.ICMPCode
	}
	var err error
	if e.Start, err = parseTime(p.First); err != nil {
		return nil, err
	}
	e.End, err = parseTime(p.Last)
	return e, err
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
