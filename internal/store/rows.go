package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unsafe"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// embeddedRows decodes a stream's chunks block by block.
type embeddedRows struct {
	ctx     context.Context
	session *session
	stream  unsafe.Pointer
	release func()

	chunk  *chproto.Reader // of the chunk being read
	block  *proto.Block
	row    int
	done   bool
	closed bool
	err    error
}

// Next implements Rows.
func (r *embeddedRows) Next() bool {
	r.row++
	for r.err == nil && !r.done && (r.block == nil || r.row >= r.block.Rows()) {
		r.nextBlock()
	}
	return r.err == nil && !r.done
}

func (r *embeddedRows) nextBlock() {
	if r.err = context.Cause(r.ctx); r.err != nil {
		return
	}
	if r.chunk == nil {
		raw, err := r.session.fetch(r.stream)
		if r.err, r.done = err, len(raw) == 0; r.err != nil || r.done {
			return
		}
		r.chunk = chproto.NewReader(bytes.NewReader(raw))
	}
	block := proto.NewBlock()
	switch err := block.Decode(r.chunk, revision); {
	case errors.Is(err, io.EOF):
		r.chunk = nil
	case err != nil:
		r.err = fmt.Errorf("decode rows: %w", err)
	default:
		r.block, r.row = block, 0
	}
}

// Scan implements Rows.
func (r *embeddedRows) Scan(dest ...any) error {
	if len(dest) != len(r.block.Columns) {
		return fmt.Errorf("rows have %d columns, %d were requested", len(r.block.Columns), len(dest))
	}
	for i, c := range r.block.Columns {
		if err := c.ScanRow(dest[i], r.row); err != nil {
			return fmt.Errorf("column %s: %w", r.block.ColumnsNames()[i], err)
		}
	}
	return nil
}

// Err implements Rows.
func (r *embeddedRows) Err() error { return r.err }

// Close implements Rows.
func (r *embeddedRows) Close() error {
	if !r.closed {
		r.closed = true
		r.session.endStream(r.stream, r.done && r.err == nil)
		r.release()
	}
	return nil
}
