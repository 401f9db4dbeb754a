// Package chain links audit records by their hashes, and finds what was done to them since.
//
// In: the hash of the record before, and a record; or all records that are kept. Out: the record with its hash; or each
// place where a record was edited, removed, moved, added or cut off. Next: services/audit, which keeps the records, and
// `millrace audit verify`.
//
// Mutation testing: 41 of 42 killed (docs/reference/mutants.md).
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

// Origin is the hash before the first record.
var Origin = hex.EncodeToString(make([]byte, sha256.Size))

// version begins the octets of every record, so that another encoding can never be taken for this one.
const version = "millrace audit 1"

// Octets is what of a record is hashed: each field as text, after its length in four octets. No two records have the
// same octets, and a program in any language can make them (docs/reference/audit.md).
func Octets(r *auditv1.Record) []byte {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	var out []byte
	texts := []string{
		version, number(r.GetSeq()), r.GetAt(), r.GetKind().String(), r.GetCall(), r.GetUser(), r.GetCredential(), r.GetCredentialKind(), r.GetOnBehalf(),
		r.GetFrom(), r.GetProcedure(), r.GetObject(), r.GetReason(), r.GetResult(), r.GetRefusal(), number(r.GetTimes()),
		number(r.GetDroppedSeq()), r.GetDroppedHash(),
	}
	if r.GetScope() != "" { // older records have none, and keep their hashes
		texts = append(texts, r.GetScope())
	}
	for _, text := range texts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(text)))
		out = append(out, text...)
	}
	return out
}

// hash is that of a record behind another one.
func hash(before string, r *auditv1.Record) string {
	sum := sha256.New()
	raw, _ := hex.DecodeString(before) // what is no hash has none that follows from it
	sum.Write(raw)
	sum.Write(Octets(r))
	return hex.EncodeToString(sum.Sum(nil))
}

// Seal numbers records and gives them their hashes, behind the head; it returns the new head.
func Seal(head *auditv1.Mark, records ...*auditv1.Record) *auditv1.Mark {
	next := After(head)
	for _, r := range records {
		r.Seq = next.GetSeq() + 1
		r.Hash = hash(next.GetHash(), r)
		next = &auditv1.Mark{Seq: r.GetSeq(), Hash: r.GetHash()}
	}
	return next
}

// After is a mark, or the origin where there is none.
func After(m *auditv1.Mark) *auditv1.Mark {
	if m.GetSeq() == 0 {
		return &auditv1.Mark{Hash: Origin}
	}
	return m
}
