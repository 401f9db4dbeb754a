package flowrecord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Block is flow records as columns: what a message of the bus carries, and the columns of the flow store's table
// `flows`. On the bus it is one block of ClickHouse's format Native, so that storing it takes no work per record.
type Block struct {
	rows, room int
	data       [columns][]byte // room values each, or as many as rows where the block was read
}

// Columns of a block, in their order on the bus.
const (
	colExporter = iota
	colDomain
	colStart
	colEnd
	colSrc
	colDst
	colSrcPort
	colDstPort
	colProtocol
	colTOS
	colTCPFlags
	colInIf
	colOutIf
	colBytes
	colPackets
	colSamplingRate
	colSource
	colFlowLabel
	columns
)

// Column is one column's name and type, as ClickHouse has them.
type Column struct {
	Name, Type string
	size       int // of a value
}

// Milliseconds is the type of a time: NetFlow's own resolution.
const Milliseconds = "DateTime64(3, 'UTC')"

// Columns are those of every block. IPv4 addresses are mapped into IPv6.
var Columns = [columns]Column{
	colExporter: {"exporter", "IPv6", 16}, colDomain: {"domain", "UInt32", 4},
	colStart: {"start", Milliseconds, 8}, colEnd: {"end", Milliseconds, 8},
	colSrc: {"src", "IPv6", 16}, colDst: {"dst", "IPv6", 16}, colSrcPort: {"src_port", "UInt16", 2}, colDstPort: {"dst_port", "UInt16", 2},
	colProtocol: {"protocol", "UInt8", 1}, colTOS: {"tos", "UInt8", 1}, colTCPFlags: {"tcp_flags", "UInt16", 2},
	colInIf: {"in_if", "UInt32", 4}, colOutIf: {"out_if", "UInt32", 4},
	colBytes: {"bytes", "UInt64", 8}, colPackets: {"packets", "UInt64", 8}, colSamplingRate: {"sampling_rate", "UInt64", 8},
	colSource: {"source", "UInt8", 1}, colFlowLabel: {"flow_label", "UInt32", 4},
}

// added are columns that a block of an earlier version lacks: all their values are 0.
var added = [columns]bool{colFlowLabel: true}

// rowBytes is what a record takes.
var rowBytes = func() (n int) {
	for _, c := range Columns {
		n += c.size
	}
	return n
}()

// firstRoom is for how many records a block has room at first; it doubles.
const firstRoom = 32

var le = binary.LittleEndian

// Rows is the number of records; of no block it is 0.
func (b *Block) Rows() int {
	if b == nil {
		return 0
	}
	return b.rows
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() { b.rows = 0 }

// Values are those of a column, as the format Native has them: one after the other, little-endian, addresses in network
// order. They are valid until the block changes.
func (b *Block) Values(column int) []byte { return b.data[column][:b.rows*Columns[column].size] }

// Append adds a record. Its times are cut to milliseconds.
func (b *Block) Append(r *Record) {
	if b.rows == b.room {
		b.grow(max(firstRoom, 2*b.room))
	}
	i := b.rows
	b.rows++
	addr(b.data[colExporter][16*i:], r.Exporter)
	addr(b.data[colSrc][16*i:], r.Src)
	addr(b.data[colDst][16*i:], r.Dst)
	le.PutUint64(b.data[colStart][8*i:], uint64(r.Start.UnixMilli()))
	le.PutUint64(b.data[colEnd][8*i:], uint64(r.End.UnixMilli()))
	le.PutUint64(b.data[colBytes][8*i:], r.Bytes)
	le.PutUint64(b.data[colPackets][8*i:], r.Packets)
	le.PutUint64(b.data[colSamplingRate][8*i:], r.SamplingRate)
	le.PutUint32(b.data[colDomain][4*i:], r.Domain)
	le.PutUint32(b.data[colInIf][4*i:], r.InIf)
	le.PutUint32(b.data[colOutIf][4*i:], r.OutIf)
	le.PutUint32(b.data[colFlowLabel][4*i:], r.FlowLabel)
	le.PutUint16(b.data[colSrcPort][2*i:], r.SrcPort)
	le.PutUint16(b.data[colDstPort][2*i:], r.DstPort)
	le.PutUint16(b.data[colTCPFlags][2*i:], r.TCPFlags)
	b.data[colProtocol][i], b.data[colTOS][i], b.data[colSource][i] = r.Protocol, r.TOS, uint8(r.Source)
}

func addr(to []byte, a netip.Addr) {
	if a.Is4() {
		raw := a.As4()
		le.PutUint64(to, 0)
		le.PutUint32(to[8:], 0xffff0000)
		copy(to[12:16], raw[:])
		return
	}
	raw := a.As16()
	copy(to[:16], raw[:])
}

// grow moves the columns into one new piece of memory.
func (b *Block) grow(room int) {
	memory := make([]byte, room*rowBytes)
	for i := range b.data {
		n := room * Columns[i].size
		copy(memory[:n:n], b.data[i][:b.rows*Columns[i].size])
		b.data[i], memory = memory[:n:n], memory[n:]
	}
	b.room = room
}

// Record is one of the records.
func (b *Block) Record(i int) Record {
	return Record{
		Exporter: b.addr(colExporter, i), Domain: le.Uint32(b.data[colDomain][4*i:]),
		Start: time.UnixMilli(b.millis(colStart, i)).UTC(), End: time.UnixMilli(b.millis(colEnd, i)).UTC(),
		Src: b.addr(colSrc, i), Dst: b.addr(colDst, i), SrcPort: le.Uint16(b.data[colSrcPort][2*i:]), DstPort: le.Uint16(b.data[colDstPort][2*i:]),
		Protocol: b.data[colProtocol][i], TOS: b.data[colTOS][i], TCPFlags: le.Uint16(b.data[colTCPFlags][2*i:]),
		InIf: le.Uint32(b.data[colInIf][4*i:]), OutIf: le.Uint32(b.data[colOutIf][4*i:]),
		Bytes: le.Uint64(b.data[colBytes][8*i:]), Packets: le.Uint64(b.data[colPackets][8*i:]),
		SamplingRate: le.Uint64(b.data[colSamplingRate][8*i:]), Source: Source(b.data[colSource][i]),
		FlowLabel: le.Uint32(b.data[colFlowLabel][4*i:]),
	}
}

func (b *Block) addr(column, i int) netip.Addr {
	return netip.AddrFrom16([16]byte(b.data[column][16*i:])).Unmap()
}

func (b *Block) millis(column, i int) int64 { return int64(le.Uint64(b.data[column][8*i:])) }

// Span is a record's start and end, in milliseconds since 1970.
func (b *Block) Span(i int) (start, end int64) { return b.millis(colStart, i), b.millis(colEnd, i) }

// Select returns the records at these places, in a block of their own.
func (b *Block) Select(rows []int) *Block {
	out := &Block{}
	out.grow(len(rows))
	out.rows = len(rows)
	for c := range b.data {
		size := Columns[c].size
		for to, from := range rows {
			copy(out.data[c][to*size:(to+1)*size], b.data[c][from*size:])
		}
	}
	return out
}

// AppendNative appends the block in the format Native: the numbers of columns and rows as LEB128, then each column's
// name and type, both behind their length, and its values.
func (b *Block) AppendNative(to []byte) []byte {
	to = binary.AppendUvarint(to, columns)
	to = binary.AppendUvarint(to, uint64(b.rows))
	for i, c := range Columns {
		to = append(binary.AppendUvarint(to, uint64(len(c.Name))), c.Name...)
		to = append(binary.AppendUvarint(to, uint64(len(c.Type))), c.Type...)
		to = append(to, b.Values(i)...)
	}
	return to
}

// ErrBlock is of bytes that are no block of flow records.
var ErrBlock = errors.New("not a block of flow records")

// ReadNative reads a block, which keeps using raw. Every column must be there that the first version had; others may
// stand behind them in a later version, where their types have a fixed size, and are skipped.
func ReadNative(raw []byte) (*Block, error) {
	r := native{rest: raw}
	n, rows := r.number(), r.number()
	b := &Block{rows: rows, room: rows}
	var found [columns]bool
	for range n {
		name, kind := r.text(), r.text()
		size, fixed := sizes[kind]
		values := r.take(rows * size)
		i, known := places[name]
		switch {
		case r.short:
			return nil, fmt.Errorf("%w: %d bytes are less than it says", ErrBlock, len(raw))
		case !fixed:
			return nil, fmt.Errorf("%w: column %q has type %q, whose values have no fixed size", ErrBlock, name, kind)
		case known && Columns[i].Type != kind:
			return nil, fmt.Errorf("%w: column %s has type %s, want %s", ErrBlock, name, kind, Columns[i].Type)
		case known:
			b.data[i], found[i] = values, true
		}
	}
	if r.short || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes are not what it says", ErrBlock, len(raw))
	}
	for i, there := range found {
		switch {
		case there:
		case added[i]:
			b.data[i] = make([]byte, rows*Columns[i].size)
		default:
			return nil, fmt.Errorf("%w: column %s is missing", ErrBlock, Columns[i].Name)
		}
	}
	return b, nil
}

// places are the columns by name.
var places = func() map[string]int {
	out := map[string]int{}
	for i, c := range Columns {
		out[c.Name] = i
	}
	return out
}()

// sizes are those of the types that a block may have.
var sizes = map[string]int{
	"UInt8": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8, "Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Float32": 4, "Float64": 8,
	"IPv4": 4, "IPv6": 16, "UUID": 16, "Date": 2, "DateTime": 4, "DateTime('UTC')": 4, Milliseconds: 8, "Bool": 1,
}

// native reads the pieces of a block. short is set once there was less than was promised; then all answers are empty.
type native struct {
	rest  []byte
	short bool
}

func (r *native) take(n int) []byte {
	if r.short || n < 0 || n > len(r.rest) {
		r.short = true
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

// maxNumber keeps a product with the size of a value from overflowing.
const maxNumber = 1 << 40

func (r *native) number() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > maxNumber {
		r.short = true
		return 0
	}
	r.take(n)
	return int(v)
}

func (r *native) text() string { return string(r.take(r.number())) }
