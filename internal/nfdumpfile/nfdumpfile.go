// Package nfdumpfile writes files as nfcapd 1.7 does, for tests and
// benchmarks of what reads them.
//
// In: flows. Out: a file of nfdump's layout 2 without compression
// (src/libnffile/nffileV2.h and nfxV3.h there); `nfdump -r FILE -w OTHER -z`
// makes a compressed one of it. Next: collectors/flow/nfcapd, which reads such
// files, and nfdump.
package nfdumpfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"os"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Flow is a record of a file.
type Flow struct {
	flowrecord.Record
	Event                bool
	OutBytes, OutPackets uint64 // an element of its own, where OutBytes is not 0
}

const (
	headerOctets = 40
	blockOctets  = 1 << 20 // WRITE_BUFFSIZE: nfcapd begins another block where a record would exceed it
)

// Write makes the file at path.
func Write(path string, flows iter.Seq[*Flow]) error {
	raw, err := os.Create(path)
	if err != nil {
		return err
	}
	w := writer{raw: raw, out: bufio.NewWriter(raw), at: headerOctets}
	if err := w.file(flows); err != nil {
		raw.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return raw.Close()
}

type writer struct {
	raw    *os.File
	out    *bufio.Writer
	at     int64
	blocks uint32
	flows  uint64

	records uint32 // of the block
	block   []byte
}

func (w *writer) file(flows iter.Seq[*Flow]) error {
	if _, err := w.raw.Seek(headerOctets, io.SeekStart); err != nil {
		return err
	}
	for f := range flows {
		before := len(w.block)
		w.block = appendFlow(w.block, f)
		if len(w.block) > blockOctets {
			last := append([]byte(nil), w.block[before:]...)
			w.block = w.block[:before]
			if err := w.flush(); err != nil {
				return err
			}
			w.block = append(w.block, last...)
		}
		w.records++
		w.flows++
	}
	if err := w.flush(); err != nil {
		return err
	}
	appendix, blocks := w.at, w.blocks
	w.block, w.records = appendAppendix(w.block, w.flows), 2
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	_, err := w.raw.WriteAt(header(appendix, blocks), 0)
	return err
}

func header(appendix int64, blocks uint32) []byte {
	h := make([]byte, headerOctets)
	binary.LittleEndian.PutUint16(h, 0xa50c)
	binary.LittleEndian.PutUint16(h[2:], 2)
	binary.LittleEndian.PutUint32(h[4:], 0x01070100) // nfdump 1.7.1
	binary.LittleEndian.PutUint16(h[18:], 1)         // blocks of the appendix
	binary.LittleEndian.PutUint64(h[24:], uint64(appendix))
	binary.LittleEndian.PutUint32(h[36:], blocks)
	return h
}

func (w *writer) flush() error {
	if w.records == 0 {
		return nil
	}
	h := binary.LittleEndian.AppendUint32(nil, w.records)
	h = binary.LittleEndian.AppendUint32(h, uint32(len(w.block)))
	h = binary.LittleEndian.AppendUint32(h, 3) // a block of records, no flags
	for _, part := range [][]byte{h, w.block} {
		if _, err := w.out.Write(part); err != nil {
			return err
		}
		w.at += int64(len(part))
	}
	w.blocks++
	w.block, w.records = w.block[:0], 0
	return nil
}

// appendAppendix writes the name of the source and the sums, of which only the number of flows is filled in.
func appendAppendix(b []byte, flows uint64) []byte {
	const ident, statistics, sums = 0x8001, 0x8002, 18
	b = binary.LittleEndian.AppendUint16(b, ident)
	b = binary.LittleEndian.AppendUint16(b, 4+5)
	b = append(b, "none\x00"...)
	b = binary.LittleEndian.AppendUint16(b, statistics)
	b = binary.LittleEndian.AppendUint16(b, 4+8*sums)
	b = binary.LittleEndian.AppendUint64(b, flows)
	return append(b, make([]byte, 8*(sums-1))...)
}

// appendFlow writes a record of version 3 with the elements that nfcapd writes of the datagrams of softflowd.
func appendFlow(b []byte, f *Flow) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint16(b, 11)
	b = append(b, make([]byte, 10)...)
	if f.Event {
		b[start+10] = 1
	}
	elements := uint16(0)
	add := func(id uint16, body []byte) {
		b = binary.LittleEndian.AppendUint16(b, id)
		b = binary.LittleEndian.AppendUint16(b, uint16(4+len(body)))
		b = append(b, body...)
		elements++
	}
	var buf [64]byte
	if f.Src.Is4() {
		add(2, appendAddress(appendAddress(buf[:0], f.Src), f.Dst))
	} else {
		add(3, appendAddress(appendAddress(buf[:0], f.Src), f.Dst))
	}
	add(1, appendGeneric(buf[:0], f))
	misc := binary.LittleEndian.AppendUint32(buf[:0], f.InIf)
	misc = binary.LittleEndian.AppendUint32(misc, f.OutIf)
	add(4, append(misc, make([]byte, 8)...))
	if f.OutBytes > 0 {
		counters := binary.LittleEndian.AppendUint64(buf[:0], 1)
		counters = binary.LittleEndian.AppendUint64(counters, f.OutPackets)
		add(5, binary.LittleEndian.AppendUint64(counters, f.OutBytes))
	}
	if f.Exporter.Is4() {
		add(12, appendAddress(buf[:0], f.Exporter))
	} else if f.Exporter.IsValid() {
		add(13, appendAddress(buf[:0], f.Exporter))
	}
	if f.Domain != 0 {
		domain := binary.LittleEndian.AppendUint32(append(buf[:0], make([]byte, 8)...), f.Domain)
		add(33, domain)
	}
	binary.LittleEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	binary.LittleEndian.PutUint16(b[start+4:], elements)
	return b
}

func appendGeneric(b []byte, f *Flow) []byte {
	for _, n := range []uint64{
		uint64(f.Start.UnixMilli()), uint64(f.End.UnixMilli()), uint64(f.End.UnixMilli()), f.Packets, f.Bytes,
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint16(b, f.SrcPort)
	b = binary.LittleEndian.AppendUint16(b, f.DstPort)
	return append(b, f.Protocol, byte(f.TCPFlags), 0, f.TOS)
}

// appendAddress writes an address as numbers in the machine's order, as nfcapd does: one of 32 bits or two of 64.
func appendAddress(b []byte, a netip.Addr) []byte {
	if a.Is4() {
		raw := a.As4()
		return binary.LittleEndian.AppendUint32(b, binary.BigEndian.Uint32(raw[:]))
	}
	raw := a.As16()
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(raw[:]))
	return binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(raw[8:]))
}
