package push

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// contentPrefix is the prefix of plans in etcd. A plan is large and never changes
// once made, a record is small and changes at every step, so they are stored
// apart: changes/<id> names contents by digest, change-contents/<digest>/<n>
// holds them compressed, in pieces.
const contentPrefix = "change-contents/"

// pieceBytes stays below the 1.5 MiB that etcd takes per request.
const pieceBytes = 1 << 20

// contents stores each router's plan, entries and diff.
type contents struct {
	store *state.Store

	mu     sync.Mutex
	recent map[string]*pushv1.DeviceChange
}

// maxRecent bounds the contents kept in memory; a running change set reads its own at every step.
const maxRecent = 64

// firstPiece is the name of every plan's first piece. It is written first, so its revision tells when the plan was last
// stored.
var firstPiece = pieceName(0)

func pieceName(n int) string { return fmt.Sprintf("%06d", n) }

// save stores the immutable part of d under its digest, and digest and size in d. A plan that is there is
// written again, so that a deletion that has looked for it before fails. The record that names it is
// written afterwards: a crash in between leaves a content without a name, never a name without its content.
func (c *contents) save(ctx context.Context, d *pushv1.DeviceChange) error {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pushv1.DeviceChange{Plan: d.GetPlan(), Entries: d.GetEntries(), Diff: d.GetDiff()})
	if err != nil {
		return fmt.Errorf("encode the plan of %s: %w", d.GetDevice(), err)
	}
	sum := sha256.Sum256(raw)
	digest := hex.EncodeToString(sum[:])
	packed := encoder.EncodeAll(raw, nil)
	for n := 0; n == 0 || n*pieceBytes < len(packed); n++ {
		piece := packed[n*pieceBytes : min((n+1)*pieceBytes, len(packed))]
		err := c.store.Apply(ctx, state.Op{Key: contentPrefix + digest + "/" + pieceName(n), Value: wrapperspb.Bytes(piece)})
		if err != nil {
			return fmt.Errorf("store the plan of %s: %w", d.GetDevice(), err)
		}
	}
	d.Content, d.ContentOctets = digest, uint64(len(packed))
	return nil
}

// errUnreadable means that a content is not in the store, or not whole: it will never be read again.
var errUnreadable = errors.New("cannot be read")

// fillAll completes a record.
func (c *contents) fillAll(ctx context.Context, cs *pushv1.ChangeSet) error {
	for _, d := range cs.GetDevices() {
		if err := c.fill(ctx, d); err != nil {
			return fmt.Errorf("change set %s: %w", cs.GetId(), err)
		}
	}
	return nil
}

// show completes a record for people. A plan that cannot be read is said to be so in the place of its diff: the history
// is the audit trail.
func (c *contents) show(ctx context.Context, cs *pushv1.ChangeSet) error {
	for _, d := range cs.GetDevices() {
		err := c.fill(ctx, d)
		switch {
		case errors.Is(err, errUnreadable):
			d.Diff = err.Error() + "\n"
		case err != nil:
			return fmt.Errorf("change set %s: %w", cs.GetId(), err)
		}
	}
	return nil
}

// fill completes d with its content, unless it has it.
func (c *contents) fill(ctx context.Context, d *pushv1.DeviceChange) error {
	if d.GetContent() == "" || d.GetPlan() != nil {
		return nil
	}
	whole, err := c.read(ctx, d.GetContent())
	if err != nil {
		return fmt.Errorf("plan of %s: %w", d.GetDevice(), err)
	}
	d.Plan, d.Entries, d.Diff = whole.GetPlan(), whole.GetEntries(), whole.GetDiff()
	return nil
}

func (c *contents) read(ctx context.Context, digest string) (*pushv1.DeviceChange, error) {
	c.mu.Lock()
	known := c.recent[digest]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	pieces, err := c.store.List(ctx, contentPrefix+digest+"/")
	if err != nil {
		return nil, err
	}
	whole, err := assemble(pieces, digest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) >= maxRecent {
		clear(c.recent)
	}
	c.recent[digest] = whole
	return whole, nil
}

func assemble(pieces []state.Entry, digest string) (*pushv1.DeviceChange, error) {
	var packed []byte
	for _, p := range pieces {
		piece := &wrapperspb.BytesValue{}
		if err := proto.Unmarshal(p.Value, piece); err != nil {
			return nil, fmt.Errorf("decode %s: %w", p.Key, err)
		}
		packed = append(packed, piece.GetValue()...)
	}
	raw, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack content %s: %w", digest, err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("content %s is not whole: %d pieces were found", digest, len(pieces))
	}
	whole := &pushv1.DeviceChange{}
	return whole, proto.Unmarshal(raw, whole)
}

// withoutContents is the record as etcd holds it: contents by name, and no text longer than fits.
func withoutContents(cs *pushv1.ChangeSet) *pushv1.ChangeSet {
	cs = fit(cs)
	out := shallow(cs, "devices")
	for _, d := range cs.GetDevices() {
		if d.GetContent() != "" {
			d = shallow(d, "plan", "entries", "diff")
		}
		out.Devices = append(out.Devices, d)
	}
	return out
}

// shallow copies a message without some of its fields.
func shallow[M proto.Message](m M, without ...protoreflect.Name) M {
	out := m.ProtoReflect().New()
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !slices.Contains(without, f.Name()) {
			out.Set(f, v)
		}
		return true
	})
	out.SetUnknown(m.ProtoReflect().GetUnknown()) // fields of a newer process
	return out.Interface().(M)
}

// The codecs are safe for use by many at once.
var (
	encoder, _ = zstd.NewWriter(nil)
	decoder, _ = zstd.NewReader(nil)
)
