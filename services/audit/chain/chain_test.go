package chain

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

// written is a log of n records, of which the first dropped were dropped by retention.
func written(n, dropped int) Log {
	var l Log
	for i := range n {
		r := &auditv1.Record{At: fmt.Sprintf("2026-11-23T12:00:00.%09dZ", i), Kind: auditv1.Kind_KIND_ENDED, Call: fmt.Sprint("c", i), User: "ann", Result: "ok"}
		l.Head = Seal(l.Head, r)
		l.Records = append(l.Records, r)
	}
	if dropped > 0 {
		last := l.Records[dropped-1]
		l.Anchor = &auditv1.Mark{Seq: last.GetSeq(), Hash: last.GetHash()}
		r := &auditv1.Record{Kind: auditv1.Kind_KIND_DROPPED, DroppedSeq: last.GetSeq(), DroppedHash: last.GetHash()}
		l.Head = Seal(l.Head, r)
		l.Records = append(l.Records[dropped:], r)
	}
	return l
}

// again gives records from i on the hashes that follow from what they are, as an editor with patience does.
func again(l *Log, i int) {
	before := l.Anchor
	if i > 0 {
		before = &auditv1.Mark{Seq: l.Records[i-1].GetSeq(), Hash: l.Records[i-1].GetHash()}
	}
	l.Head = Seal(before, l.Records[i:]...)
}

// TestVerify does to a log of ten records what an editor may do, with and without dropped ones before them.
func TestVerify(t *testing.T) {
	type found struct {
		fault Fault
		seq   uint64
	}
	whole := written(10, 0)
	for name, tt := range map[string]struct {
		log   Log
		spoil func(*Log)
		noted []*auditv1.Mark
		want  []found
	}{
		"nothing was written":                     {Log{}, func(*Log) {}, nil, nil},
		"nothing was done":                        {written(10, 0), func(*Log) {}, nil, nil},
		"nothing was done after retention":        {written(14, 4), func(*Log) {}, nil, nil},
		"all were dropped but the record of it":   {written(4, 4), func(*Log) {}, nil, nil},
		"a record was edited":                     {written(10, 0), func(l *Log) { l.Records[3].User = "bob" }, nil, []found{{Edited, 4}}},
		"the first record was edited":             {written(10, 0), func(l *Log) { l.Records[0].Result = "" }, nil, []found{{Edited, 1}}},
		"the newest record was edited":            {written(10, 0), func(l *Log) { l.Records[9].User = "" }, nil, []found{{Edited, 10}}},
		"the first one kept was edited":           {written(14, 4), func(l *Log) { l.Records[0].User = "bob" }, nil, []found{{Edited, 5}}},
		"a record and its hash were edited":       {written(10, 0), func(l *Log) { l.Records[3].User = "bob"; l.Records[3].Hash = hash(l.Records[2].Hash, l.Records[3]) }, nil, []found{{Edited, 5}}},
		"the newest and its hash were edited":     {written(10, 0), func(l *Log) { l.Records[9].User = "bob"; l.Records[9].Hash = hash(l.Records[8].Hash, l.Records[9]) }, nil, []found{{Edited, 10}}},
		"a hash was edited":                       {written(10, 0), func(l *Log) { l.Records[3].Hash = Origin }, nil, []found{{Edited, 4}, {Edited, 5}}},
		"a hash is no hash":                       {written(10, 0), func(l *Log) { l.Records[3].Hash = "x" }, nil, []found{{Edited, 4}, {Edited, 5}}},
		"a record was removed":                    {written(10, 0), func(l *Log) { l.Records = slices.Delete(l.Records, 3, 4) }, nil, []found{{Removed, 5}}},
		"three records were removed":              {written(10, 0), func(l *Log) { l.Records = slices.Delete(l.Records, 3, 6) }, nil, []found{{Removed, 7}}},
		"the first record was removed":            {written(10, 0), func(l *Log) { l.Records = l.Records[1:] }, nil, []found{{Removed, 2}}},
		"removed, and the rest numbered again":    {written(10, 0), func(l *Log) { l.Records = slices.Delete(l.Records, 3, 4); l.Records[3].Seq = 4 }, nil, []found{{Edited, 4}, {Removed, 6}}},
		"more was dropped than retention dropped": {written(14, 4), func(l *Log) { l.Records = l.Records[1:] }, nil, []found{{Removed, 6}}},
		"dropped, and the anchor moved": {written(14, 4), func(l *Log) {
			l.Anchor = &auditv1.Mark{Seq: 5, Hash: l.Records[0].Hash}
			l.Records = l.Records[1:]
		}, nil, []found{{Anchored, 5}}},
		"the anchor was removed":           {written(14, 4), func(l *Log) { l.Anchor = nil }, nil, []found{{Removed, 5}}},
		"the anchor has another hash":      {written(14, 4), func(l *Log) { l.Anchor.Hash = Origin }, nil, []found{{Edited, 5}, {Anchored, 4}}},
		"the anchor is older than it was":  {written(14, 4), func(l *Log) { l.Anchor.Seq = 3 }, nil, []found{{Removed, 5}, {Anchored, 3}}},
		"the anchor is newer than it was":  {written(14, 4), func(l *Log) { l.Anchor.Seq = 5 }, nil, []found{{Reordered, 5}, {Edited, 6}, {Anchored, 5}}},
		"two records changed places":       {written(10, 0), func(l *Log) { l.Records[3], l.Records[4] = l.Records[4], l.Records[3] }, nil, []found{{Reordered, 4}}},
		"a record is there twice":          {written(10, 0), func(l *Log) { l.Records = slices.Insert(l.Records, 4, l.Records[3]) }, nil, []found{{Reordered, 4}}},
		"the tail was cut off":             {written(10, 0), func(l *Log) { l.Records = l.Records[:7] }, nil, []found{{Truncated, 10}}},
		"everything was cut off":           {written(10, 0), func(l *Log) { l.Records = nil }, nil, []found{{Truncated, 10}}},
		"everything kept was cut off":      {written(14, 4), func(l *Log) { l.Records = nil }, nil, []found{{Truncated, 15}, {Anchored, 4}}},
		"the head was put back":            {written(10, 0), func(l *Log) { l.Head = &auditv1.Mark{Seq: 9, Hash: l.Records[8].Hash} }, nil, []found{{Added, 10}}},
		"the head was removed":             {written(10, 0), func(l *Log) { l.Head = nil }, nil, []found{{Added, 10}}},
		"the head has another hash":        {written(10, 0), func(l *Log) { l.Head.Hash = Origin }, nil, []found{{Edited, 10}}},
		"a record was added":               {written(10, 0), func(l *Log) { l.Records = append(l.Records, &auditv1.Record{Seq: 11}) }, nil, []found{{Edited, 11}, {Added, 11}}},
		"a number that nobody wrote":       {written(10, 0), func(l *Log) { l.Records[9].Seq = 1 << 62 }, nil, []found{{Removed, 1 << 62}, {Added, 1 << 62}}},
		"tail and head were cut off":       {written(10, 0), func(l *Log) { l.Records, l.Head = l.Records[:7], &auditv1.Mark{Seq: 7, Hash: l.Records[6].Hash} }, []*auditv1.Mark{whole.Head}, []found{{Truncated, 10}}},
		"all was written anew":             {written(10, 0), func(l *Log) { l.Records[3].User = "bob"; again(l, 3) }, []*auditv1.Mark{whole.Head}, []found{{Replaced, 10}}},
		"a mark before what was replaced":  {written(10, 0), func(l *Log) { l.Records[3].User = "bob"; again(l, 3) }, []*auditv1.Mark{{Seq: 3, Hash: whole.Records[2].Hash}}, nil},
		"the mark holds":                   {written(10, 0), func(*Log) {}, []*auditv1.Mark{whole.Head, {Seq: 1, Hash: whole.Records[0].Hash}}, nil},
		"the mark of the anchor":           {written(14, 4), func(*Log) {}, []*auditv1.Mark{{Seq: 4, Hash: Origin}}, []found{{Replaced, 4}}},
		"a mark that was dropped since":    {written(14, 4), func(*Log) {}, []*auditv1.Mark{{Seq: 3, Hash: Origin}}, nil},
		"a mark of a record that is away":  {written(10, 0), func(l *Log) { l.Records = slices.Delete(l.Records, 3, 4) }, []*auditv1.Mark{{Seq: 4, Hash: Origin}}, []found{{Removed, 5}}},
		"a mark of nothing says nothing":   {written(10, 0), func(*Log) {}, []*auditv1.Mark{{}}, nil},
		"a mark where nothing was written": {Log{}, func(*Log) {}, []*auditv1.Mark{{Seq: 1, Hash: Origin}}, []found{{Truncated, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{Anchor: tt.log.Anchor, Records: tt.log.Records, Head: tt.log.Head}
			tt.spoil(&l)
			var got []found
			for _, p := range Verify(l, tt.noted...) {
				got = append(got, found{p.Fault, p.Seq})
				t.Log(p)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWhatIsMissingIsCounted(t *testing.T) {
	for want, spoil := range map[string]func(*Log){
		"3 of the records 4 to 6 are missing": func(l *Log) { l.Records = slices.Delete(l.Records, 3, 6) },
		"1 of the records 4 to 5 are missing": func(l *Log) {
			l.Records[3], l.Records[4], l.Records[5] = l.Records[5], l.Records[3], nil
			l.Records = slices.Delete(l.Records, 5, 6)
		},
		// A number that nobody wrote is not counted to.
		"1152921504606846965 of the records 11 to 1152921504606846975 are missing": func(l *Log) {
			l.Records = append(l.Records, &auditv1.Record{Seq: 1 << 60})
		},
	} {
		l := written(10, 0)
		spoil(&l)
		if got := Verify(l); !slices.ContainsFunc(got, func(p Problem) bool { return p.Text == want }) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	late := verifier{has: map[uint64]bool{700_000: true}}
	if n := late.missing(700_000, 700_002); n != 1 {
		t.Errorf("%d of 700,000 and 700,001 are missing, and the first is there", n)
	}
}

// Every field of a record is covered by its hash, and none can be moved into the next.
func TestOctetsCoverEveryField(t *testing.T) {
	plain := &auditv1.Record{Seq: 7, User: "ann", Credential: "abc"}
	fields := plain.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		r := proto.Clone(plain).(*auditv1.Record)
		switch f.Kind() {
		case protoreflect.StringKind:
			r.ProtoReflect().Set(f, protoreflect.ValueOfString("other"))
		case protoreflect.Uint64Kind:
			r.ProtoReflect().Set(f, protoreflect.ValueOfUint64(1<<63))
		case protoreflect.EnumKind:
			r.ProtoReflect().Set(f, protoreflect.ValueOfEnum(auditv1.Kind_KIND_REFUSED.Number()))
		default:
			t.Fatalf("%s is a %s, which Octets has no text for", f.Name(), f.Kind())
		}
		if changed := hash(Origin, r) != hash(Origin, plain); changed != (f.Name() != "hash") {
			t.Errorf("%s: another value changes the hash: %v", f.Name(), changed)
		}
	}
	if moved := (&auditv1.Record{Seq: 7, User: "anna", Credential: "bc"}); hash(Origin, moved) == hash(Origin, plain) {
		t.Error("a letter moved from one field to the next")
	}
}

// TestHashOfAnother is a record that a program in Python hashed, after docs/reference/audit.md.
func TestHashOfAnother(t *testing.T) {
	r := &auditv1.Record{At: "2026-11-23T12:00:00.000000001Z", Kind: auditv1.Kind_KIND_ENDED, User: "ann", Object: "größe", Times: 2}
	const want = "503908f484b0cab816fc331662d6fe16e4c2cdc79370516e363c154a61f5f484"
	if got := Seal(nil, r); got.GetHash() != want || got.GetSeq() != 1 {
		t.Errorf("record %d has the hash %s", got.GetSeq(), got.GetHash())
	}
}
