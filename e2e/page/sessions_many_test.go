package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/threerouters"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// All pages but one that the port has streams for are opened at once, each by a login of its own, and every one is
// served whole: its files, its first reads, and the next event.
func TestPagesThatAreOpenedAtOnce(t *testing.T) {
	program.NeedLibrary(t)
	folder, host := t.TempDir(), program.OwnHost()
	threerouters.Write(t, folder)
	file := filepath.Join(folder, "millrace.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, folder, host), 0o600); err != nil {
		t.Fatal(err)
	}
	up := program.Start(t, folder, "up", program.Path, "up", "--config", file)
	t.Cleanup(func() { up.Signal(t, syscall.SIGTERM) })
	base := "http://" + host + ":8080"
	up.WaitReady(t, base)
	ctx, cancel := context.WithTimeout(t.Context(), 5*program.Patience)
	defer cancel()

	admin, all := logIn(ctx, t, up, base)
	program.Until(t, "the network was read", func() (bool, any) {
		err := admin.topology(ctx)
		return err == nil, err
	})
	before := up.ProcessorSeconds(t)
	begin := time.Now()
	whole := together(t, "opens", all, func(s *session) error { return s.open(ctx) })
	took := time.Since(begin)
	report(t, all, took, up.ProcessorSeconds(t)-before)
	freeze := &pushv1.FreezeRequest{Router: "wr", Reason: "an event for every page"}
	if _, err := pushv1connect.NewChangeServiceClient(admin.client, base).Freeze(ctx, connect.NewRequest(freeze)); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	whole = min(whole, together(t, "sees an event", all, func(s *session) error { return s.sees("routers-frozen", "wr") }))
	t.Logf("the next event was at all pages after %s; %d of %d pages served whole; peak memory of the process %s",
		time.Since(begin).Round(time.Millisecond), whole, len(all), up.PeakMemory(t))
}

// logIn is admin's session by the link that the program printed, and sessions by links of its own.
func logIn(ctx context.Context, t *testing.T, up *program.Process, base string) (admin *session, all []*session) {
	t.Helper()
	admin, err := newSession(base)
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(loginLink(t, up), "#login=")
	if err := admin.enter(ctx, code); err != nil {
		t.Fatal(err)
	}
	links := identityv1connect.NewIdentityServiceClient(admin.client, base)
	for range *sessions {
		s, err := newSession(base)
		if err != nil {
			t.Fatal(err)
		}
		link, err := links.CreateLink(ctx, connect.NewRequest(&identityv1.CreateLinkRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.enter(ctx, link.Msg.GetCode()); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return admin, all
}

// together has all sessions do something at the same time, and counts those that did.
func together(t *testing.T, what string, all []*session, do func(*session) error) (did int) {
	t.Helper()
	start, errs := make(chan struct{}), make([]error, len(all))
	var doing sync.WaitGroup
	for i, s := range all {
		doing.Go(func() {
			<-start
			errs[i] = do(s)
		})
	}
	close(start)
	doing.Wait()
	for i, err := range errs {
		if err == nil {
			did++
		} else {
			t.Errorf("page %d: %s: %v", i, what, err)
		}
	}
	return did
}

// report logs how long pages took to open.
func report(t *testing.T, all []*session, took time.Duration, cpu float64) {
	t.Helper()
	slices.SortFunc(all, func(a, b *session) int { return int(a.opened - b.opened) })
	at := func(share float64) time.Duration {
		return all[int(share*float64(len(all)-1))].opened.Round(time.Millisecond)
	}
	t.Logf("%d pages opened at once within %s: median %s, 95 %% %s, last %s; %.1f CPU s of the process",
		len(all), took.Round(time.Millisecond), at(0.5), at(0.95), at(1), cpu)
}
