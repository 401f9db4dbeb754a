package nfcapd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Layout 2 of nfdump 1.7 (src/libnffile/nffileV2.h there): a header, blocks of
// records, and an appendix whose blocks say what the file is. Numbers are in the
// order of the machine that wrote it; little endian is read.
const (
	magic        = 0xa50c
	layout2      = 2
	headerOctets = 40

	blockHeaderOctets = 12
	blockOctets       = 5 << 20 // BUFFSIZE: no block is larger, as written or decompressed

	blockOf16      = 2 // DATA_BLOCK_TYPE_2, of nfdump 1.6; in layout 2 where nfdump 1.7 compressed a file of 1.6 anew (-J)
	blockOfRecords = 3 // DATA_BLOCK_TYPE_3; type 4 is of location databases

	recordHeaderOctets = 4
	recordStatistics   = 0x8002 // TYPE_STAT, in the appendix
)

var (
	// errLayout says that the file is not of layout 2, has records of nfdump 1.6, or is compressed or encrypted in a
	// way that is not known here.
	errLayout = errors.New("not layout 2 of nfdump 1.7")
	// errOpen says that neither blocks nor the appendix are in the header: nfcapd writes there when it closes the file,
	// and holds up to 2 MB of records until then.
	errOpen = errors.New("the file was not closed: nfcapd still writes it, or was killed while it did")
)

// file is an open file of layout 2.
type file struct {
	raw        *os.File
	in         *bufio.Reader
	expand     decompress
	blocks     int // records' blocks
	appendix   int64
	buf, plain []byte
}

func open(path string) (*file, error) {
	raw, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{raw: raw, in: bufio.NewReaderSize(raw, 1<<16)}
	if err := f.header(); err != nil {
		raw.Close()
		return nil, err
	}
	return f, nil
}

func (f *file) close() { f.raw.Close() }

func (f *file) header() error {
	var h [headerOctets]byte
	if _, err := io.ReadFull(f.in, h[:]); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errLayout
	} else if err != nil {
		return err
	}
	var known bool
	f.expand, known = decompressors[h[16]]
	encrypted := h[17] != 0
	if binary.LittleEndian.Uint16(h[:]) != magic || binary.LittleEndian.Uint16(h[2:]) != layout2 || !known || encrypted {
		return errLayout
	}
	if binary.LittleEndian.Uint16(h[18:]) > 0 {
		f.appendix = int64(binary.LittleEndian.Uint64(h[24:]))
	}
	f.blocks = int(binary.LittleEndian.Uint32(h[36:]))
	if f.blocks == 0 && f.appendix == 0 {
		return errOpen
	}
	if b, err := f.in.Peek(blockHeaderOctets); err == nil && binary.LittleEndian.Uint16(b[8:]) == blockOf16 {
		return errLayout
	}
	return nil
}

// block is what the header of a block says, and its records.
type block struct {
	kind    uint16
	records uint32
	content []byte // valid until the next block is read
}

func (f *file) block() (block, error) {
	var h [blockHeaderOctets]byte
	if _, err := io.ReadFull(f.in, h[:]); err != nil {
		return block{}, breaksOff(err)
	}
	b := block{records: binary.LittleEndian.Uint32(h[:]), kind: binary.LittleEndian.Uint16(h[8:])}
	size := binary.LittleEndian.Uint32(h[4:])
	if size > blockOctets {
		return block{}, fmt.Errorf("it has %d octets; want at most %d", size, blockOctets)
	}
	if f.buf == nil {
		f.buf = make([]byte, blockOctets)
	}
	if _, err := io.ReadFull(f.in, f.buf[:size]); err != nil {
		return block{}, breaksOff(err)
	}
	if f.expand == nil {
		b.content = f.buf[:size]
		return b, nil
	}
	if f.plain == nil {
		f.plain = make([]byte, blockOctets)
	}
	n, err := f.expand(f.plain, f.buf[:size])
	if err != nil {
		return block{}, fmt.Errorf("decompress it: %w", err)
	}
	b.content = f.plain[:n]
	return b, nil
}

func breaksOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file breaks off in it")
	}
	return err
}

func (f *file) read(ctx context.Context, opt Options, each func(*flowrecord.Record) error) (skipped uint64, err error) {
	for i := range f.blocks {
		if err := ctx.Err(); err != nil {
			return skipped, err
		}
		b, err := f.block()
		if err == nil {
			err = b.flows(&opt, each, &skipped)
		}
		if err != nil {
			return skipped, fmt.Errorf("block %d of %d: %w", i+1, f.blocks, err)
		}
	}
	return skipped, f.complete()
}

// complete is an error where the appendix does not follow: the header then has fewer blocks than the file.
func (f *file) complete() error {
	at, err := f.raw.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if at -= int64(f.in.Buffered()); f.appendix != 0 && at != f.appendix {
		return fmt.Errorf("its %d blocks end at octet %d, and its appendix begins at %d", f.blocks, at, f.appendix)
	}
	return nil
}

func (b *block) flows(opt *Options, each func(*flowrecord.Record) error, skipped *uint64) error {
	if b.kind != blockOfRecords {
		return fmt.Errorf("it is of type %d; want %d", b.kind, blockOfRecords)
	}
	var e entry
	return b.each(func(kind uint16, record []byte) error {
		if isOther(kind) {
			return nil
		}
		if err := e.read(kind, record); err != nil {
			return err
		}
		ok, err := e.flow(opt)
		switch {
		case err != nil:
			return err
		case !ok:
			*skipped++
			return nil
		}
		return each(&e.Record)
	})
}

// each calls do with every record of the block, its header included.
func (b *block) each(do func(kind uint16, record []byte) error) error {
	rest := b.content
	for i := range b.records {
		size := 0
		if len(rest) >= recordHeaderOctets {
			size = int(binary.LittleEndian.Uint16(rest[2:]))
		}
		if size < recordHeaderOctets || size > len(rest) {
			return fmt.Errorf("record %d of %d has %d octets, and the block %d more", i+1, b.records, size, len(rest))
		}
		if err := do(binary.LittleEndian.Uint16(rest), rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("there are %d octets after its %d records", len(rest), b.records)
	}
	return nil
}

// count is the number of flows by the appendix.
func (f *file) count() (flows uint64, err error) {
	if f.appendix == 0 {
		return 0, nil
	}
	if _, err := f.raw.Seek(f.appendix, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the appendix: %w", err)
	}
	f.in.Reset(f.raw)
	b, err := f.block()
	if err != nil {
		return 0, fmt.Errorf("the appendix: %w", err)
	}
	err = b.each(func(kind uint16, record []byte) error {
		if body := record[recordHeaderOctets:]; kind == recordStatistics && len(body) >= 8 {
			flows = binary.LittleEndian.Uint64(body)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("the appendix: %w", err)
	}
	return flows, nil
}
