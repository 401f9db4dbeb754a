package chain

import (
	"fmt"
	"slices"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

// Fault is what was done to records.
type Fault string

// The faults.
const (
	// Edited: a record, or the one before it, is not what it was.
	Edited Fault = "edited"
	// Removed: records are missing before others.
	Removed Fault = "removed"
	// Reordered: a record stands behind one that came after it, or twice.
	Reordered Fault = "reordered"
	// Truncated: the newest records are missing.
	Truncated Fault = "truncated"
	// Added: there is more than the head knows of.
	Added Fault = "added"
	// Anchored: the anchor is not the one of which the records say that it was set.
	Anchored Fault = "anchor"
	// Replaced: the chain is whole, and it is another one than that of which a mark was noted.
	Replaced Fault = "replaced"
)

// Problem is one finding.
type Problem struct {
	Fault Fault
	// Seq is the record at which it shows.
	Seq  uint64
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s at %d: %s", p.Fault, p.Seq, p.Text) }

// Log is all that is kept of a chain: the anchor is the last record that retention dropped.
type Log struct {
	Anchor  *auditv1.Mark
	Records []*auditv1.Record
	Head    *auditv1.Mark
}

// Verify returns what does not hold. Noted are marks of the same chain that were noted elsewhere: without them somebody
// who can write all of the log can make another one that is whole in itself.
func Verify(l Log, noted ...*auditv1.Mark) []Problem {
	v := verifier{at: After(l.Anchor), hashes: map[uint64]string{l.Anchor.GetSeq(): After(l.Anchor).GetHash()}}
	v.present(l.Records)
	for _, r := range l.Records {
		v.record(r)
	}
	v.head(After(l.Head))
	v.anchor(l)
	for _, m := range noted {
		v.noted(m, l.Anchor.GetSeq(), l.Head.GetSeq())
	}
	return v.problems
}

// verifier has the record before, and what is there.
type verifier struct {
	at       *auditv1.Mark
	has      map[uint64]bool
	hashes   map[uint64]string
	problems []Problem
}

func (v *verifier) present(records []*auditv1.Record) {
	v.has = map[uint64]bool{}
	for _, r := range records {
		v.has[r.GetSeq()] = true
	}
}

func (v *verifier) found(f Fault, seq uint64, format string, a ...any) {
	v.problems = append(v.problems, Problem{Fault: f, Seq: seq, Text: fmt.Sprintf(format, a...)})
}

// record compares one with the one before it. After a finding its own hash counts, so that each is one finding.
func (v *verifier) record(r *auditv1.Record) {
	seq, last := r.GetSeq(), v.at.GetSeq()
	if seq <= last {
		v.found(Reordered, seq, "it stands behind %d", last)
		return
	}
	if missing := v.missing(last+1, seq); missing > 0 {
		v.found(Removed, seq, "%d of the records %d to %d are missing", missing, last+1, seq-1)
	}
	if seq == last+1 && r.GetHash() != hash(v.at.GetHash(), r) {
		v.found(Edited, seq, "its hash does not follow from its content and from record %d: one of the two is not what it was", last)
	}
	v.at = &auditv1.Mark{Seq: seq, Hash: r.GetHash()}
	v.hashes[seq] = r.GetHash()
}

// missing counts those from first to before end that are nowhere.
func (v *verifier) missing(first, end uint64) (n uint64) {
	if end-first > uint64(len(v.has))+1_000_000 { // a number that nobody wrote
		return end - first
	}
	for seq := first; seq < end; seq++ {
		if !v.has[seq] {
			n++
		}
	}
	return n
}

// head compares the newest record with what the head knows of it.
func (v *verifier) head(head *auditv1.Mark) {
	switch last := v.at.GetSeq(); {
	case last < head.GetSeq():
		v.found(Truncated, head.GetSeq(), "the newest record is %d", last)
	case last > head.GetSeq():
		v.found(Added, last, "the head is %d", head.GetSeq())
	case v.at.GetHash() != head.GetHash():
		v.found(Edited, last, "its hash is not the one of the head")
	}
}

// anchor looks for the record that says where retention set the anchor: who drops more, and moves the anchor, has no
// such record.
func (v *verifier) anchor(l Log) {
	seq := l.Anchor.GetSeq()
	if seq == 0 {
		return
	}
	said := slices.ContainsFunc(l.Records, func(r *auditv1.Record) bool {
		return r.GetKind() == auditv1.Kind_KIND_DROPPED && r.GetDroppedSeq() == seq && r.GetDroppedHash() == l.Anchor.GetHash()
	})
	if !said {
		v.found(Anchored, seq, "no record says that the records up to %d were dropped: they were removed otherwise, or the anchor was changed", seq)
	}
}

// noted compares a mark from elsewhere. One of records that were dropped says nothing.
func (v *verifier) noted(m *auditv1.Mark, anchor, head uint64) {
	switch got, kept := v.hashes[m.GetSeq()]; {
	case m.GetSeq() < anchor || m.GetSeq() == 0:
	case m.GetSeq() > head:
		v.found(Truncated, m.GetSeq(), "it was noted, and the head is %d", head)
	case kept && got != m.GetHash():
		v.found(Replaced, m.GetSeq(), "its hash is not the one that was noted")
	}
}
