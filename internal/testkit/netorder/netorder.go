// Package netorder writes numbers as they are on the wire.
//
// In: numbers of a size. Out: their octets, in network byte order. Next: tests that build a datagram which no exporter
// sends.
package netorder

import "encoding/binary"

// U16 are numbers of two octets, one after the other.
func U16(numbers ...uint16) (out []byte) {
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint16(out, n)
	}
	return out
}

// U32 are numbers of four octets, one after the other.
func U32(numbers ...uint32) (out []byte) {
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return out
}
