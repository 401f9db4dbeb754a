package flowstore

import (
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// day is a partition: days since 1970, UTC.
type day int64

const dayMillis = int64(24 * time.Hour / time.Millisecond)

func (d day) begins() time.Time { return time.UnixMilli(int64(d) * dayMillis).UTC() }

func dayOf(millis int64) day {
	d := millis / dayMillis
	if millis%dayMillis < 0 {
		d--
	}
	return day(d)
}

// split sorts the records of a block by the partition that they belong to. refused is how many of them the table cannot
// hold. A block of one day, as nearly all are, stays as it is.
func split(b *flowrecord.Block) (days map[day]*flowrecord.Block, refused int) {
	if b.Rows() == 0 {
		return nil, 0
	}
	start, _ := b.Span(0)
	first, one := dayOf(start), true
	for i := range b.Rows() {
		start, end := b.Span(i)
		if !storableMillis(start, end) || dayOf(start) != first {
			one = false
			break
		}
	}
	if one {
		return map[day]*flowrecord.Block{first: b}, 0
	}
	places := map[day][]int{}
	for i := range b.Rows() {
		start, end := b.Span(i)
		if !storableMillis(start, end) {
			refused++
			continue
		}
		d := dayOf(start)
		places[d] = append(places[d], i)
	}
	days = map[day]*flowrecord.Block{}
	for d, rows := range places {
		days[d] = b.Select(rows)
	}
	return days, refused
}

// oldest and newest bound the times the store takes: what ClickHouse's DateTime can hold.
var (
	oldest = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	newest = time.Date(2105, 12, 31, 0, 0, 0, 0, time.UTC)
)

func storable(from, to time.Time) bool { return storableMillis(from.UnixMilli(), to.UnixMilli()) }

func storableMillis(from, to int64) bool { return from >= oldestMillis && to < newestMillis }

var oldestMillis, newestMillis = oldest.UnixMilli(), newest.UnixMilli()
