package mtls

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// TestAnOverdueListSaysWhatHolds: whether it is used or its CA's certificates are refused.
func TestAnOverdueListSaysWhatHolds(t *testing.T) {
	for overdue, want := range map[string]string{"": "It stays in use", UseOverdue: "It stays in use", RefuseOverdue: "are refused"} {
		server := newEnd(t, pki.New(t), "router", true)
		server.inUse.Load().refuseOverdue = overdue == RefuseOverdue
		server.ahead = 2 * time.Hour
		server.judge()
		if said := server.log.b.String(); !strings.Contains(said, want) || strings.Contains(said, "It stays in use") != (overdue != RefuseOverdue) {
			t.Errorf("crl_overdue %q:\n%s", overdue, said)
		}
	}
}
