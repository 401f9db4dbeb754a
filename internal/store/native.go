package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"golang.org/x/sys/unix"
)

// native is the format in which rows enter and leave the engine: the same
// blocks that the server's protocol carries, hence one codec for both.
const native = "Native"

// revision 0 is the block layout of files, without the protocol's additions.
const revision = 0

// pieces are the bytes of a batch, in parts that follow each other.
func pieces(b Batch) ([][]byte, error) {
	if b.Rows == 0 {
		raw, err := encode(b)
		return [][]byte{raw}, err
	}
	head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(b.Columns))), uint64(b.Rows))
	var out [][]byte
	for _, c := range b.Columns {
		values, ok := c.Values.(Encoded)
		if !ok {
			return nil, fmt.Errorf("column %s of %s is not encoded, and others are", c.Name, b.Table)
		}
		for _, text := range []string{c.Name, c.Type} {
			head = append(binary.AppendUvarint(head, uint64(len(text))), text...)
		}
		out = append(append(out, head), values...)
		head = nil
	}
	return out, nil
}

func encode(b Batch) ([]byte, error) {
	block := proto.NewBlock()
	for i, c := range b.Columns {
		if err := block.AddColumn(c.Name, column.Type(c.Type)); err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
		if _, err := block.Columns[i].Append(c.Values); err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
	}
	buffer := &chproto.Buffer{}
	if err := block.Encode(buffer, revision); err != nil {
		return nil, fmt.Errorf("encode rows for %s: %w", b.Table, err)
	}
	return buffer.Buf, nil
}

func columnList(b Batch) string {
	names := make([]string, len(b.Columns))
	for i, c := range b.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// memoryFile holds content until it is closed; the engine reads it as /proc/self/fd/N.
func memoryFile(content [][]byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("millrace-insert", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "millrace-insert")
	for _, piece := range content {
		if _, err := f.Write(piece); err != nil {
			f.Close()
			return nil, fmt.Errorf("write a file in memory: %w", err)
		}
	}
	return f, nil
}
