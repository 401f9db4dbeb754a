package kernel

import (
	"encoding/binary"
	"fmt"
)

// bfifoLeaf drops what does not fit into the buffer. It is the queue without a Discipline.
var bfifoLeaf = leafKind{
	name: "bfifo", handle: 0,
	options: func(q Queue) [][]byte { return [][]byte{fifoLimit(q.Buffer)} },
	want:    func(q Queue) string { return fmt.Sprintf("%x", fifoLimit(q.Buffer)) },
	got:     func(options []byte) string { return fmt.Sprintf("%x", options) },
}

// fifoLimit encodes struct tc_fifo_qopt.
func fifoLimit(limit uint32) []byte { return binary.NativeEndian.AppendUint32(nil, limit) }
