package store

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// entries counts what the kernel lists of this process: threads in task, file descriptors in fd.
func entries(t *testing.T, folder string) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Statements that run side by side take threads, and each thread three files: both go with the statements, but for the
// few that wait for the next ones.
func TestThreadsOfManyStatementsEnd(t *testing.T) {
	db := open(t, t.TempDir())
	burst(t, db, 1)
	threads, files := entries(t, "task"), entries(t, "fd")
	burst(t, db, 64)
	await.True(t, "the threads of the burst have ended", func() bool { return entries(t, "task") <= threads+idleThreads })
	await.True(t, "their files are closed", func() bool { return entries(t, "fd") <= files+3*idleThreads })
}

// burst has as many queries as run at a time, each of parts that run side by side.
func burst(t *testing.T, db DB, parts int) {
	t.Helper()
	sql := "SELECT sum(number) FROM numbers(1000000)" + strings.Repeat(" UNION ALL SELECT sum(number) FROM numbers(1000000)", parts-1)
	var all sync.WaitGroup
	for range maxReaders {
		all.Go(func() {
			rows, err := db.Query(t.Context(), sql+" SETTINGS max_threads = ?", parts)
			if err != nil {
				t.Error(err)
				return
			}
			defer rows.Close()
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("after queries of %d parts: %d threads, %d files", parts, entries(t, "task"), entries(t, "fd"))
}
