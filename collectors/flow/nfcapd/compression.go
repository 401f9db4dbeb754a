package nfcapd

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"sync"

	"github.com/anchore/go-lzo"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decompress writes what src is compressed from to dst, and returns how much it is; more than dst takes is an error.
type decompress func(dst, src []byte) (int, error)

// decompressors are by what the header has for compression, the *_COMPRESSED of nffileV2.h. What is not compressed has
// none.
var decompressors = map[byte]decompress{
	0: nil,
	1: func(dst, src []byte) (int, error) { return lzo.Decompress(src, dst) },
	2: bzip,
	3: func(dst, src []byte) (int, error) { return lz4.UncompressBlock(src, dst) },
	4: zst,
}

var errLarge = errors.New("it is larger than any block")

func bzip(dst, src []byte) (int, error) {
	out, err := io.ReadAll(io.LimitReader(bzip2.NewReader(bytes.NewReader(src)), int64(len(dst))+1))
	if len(out) > len(dst) {
		return 0, errLarge
	}
	return copy(dst, out), err
}

// zstdDecoder keeps its tables from block to block; it is made when a file needs it.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockOctets))
})

func zst(dst, src []byte) (int, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return 0, err
	}
	out, err := decoder.DecodeAll(src, dst[:0])
	if err != nil {
		return 0, err
	}
	if len(out) > len(dst) {
		return 0, errLarge
	}
	return len(out), nil
}
