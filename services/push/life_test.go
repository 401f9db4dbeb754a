package push

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/driver/junos/junostest"
	"github.com/millrace/millrace/services/push/pushtest"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests saw into their transcripts")

// Each testdata/*.txt is the life of one or two change sets, as commands and
// what an operator sees after each.
func TestLives(t *testing.T) { lives(t, "testdata/*.txt") }

// In testdata/junos the ingress router runs Junos; the others are as before.
func TestLivesWithAJunosRouter(t *testing.T) { lives(t, "testdata/junos/*.txt", "wr") }

func lives(t *testing.T, pattern string, onJunos ...string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(newWorld(t, onJunos...), string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(got, string(want)); diff != "" {
				t.Errorf("%s (-got +want):\n%s", file, diff)
			}
		})
	}
}

// replay does the commands of a transcript and writes it anew.
func replay(w *world, transcript string) string {
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(transcript))
	for lines.Scan() {
		line := lines.Text()
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			out.WriteString(line + "\n" + indent(w.command(strings.Fields(command))))
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

func (w *world) command(words []string) string {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	ctx, id := w.t.Context(), w.id
	var err error
	switch words[0] {
	case "policy":
		w.plans.set(arg(1))
	case "create":
		var r *connect.Response[pushv1.CreateResponse]
		r, err = w.api.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{
			Title: "Alpha pairs of " + arg(1), Author: "alpha nightly", Reason: "2 pairs found", Policy: "hntes-two-queue", IdempotencyKey: arg(1),
		}))
		if err == nil {
			w.id = r.Msg.GetChange().GetId()
			return show(r.Msg.GetChange())
		}
	case "draft": // a create that does not return
		go w.api.Create(w.running, connect.NewRequest(&pushv1.CreateRequest{ //nolint:errcheck // it is cut off by the restart
			Title: "Alpha pairs of " + arg(1), Author: "alpha nightly", Policy: "hntes-two-queue", IdempotencyKey: arg(1),
		}))
		w.id = newID(arg(1))
		await.True(w.t, "the change set is a draft", func() bool {
			_, _, err := w.push.load(ctx, w.id)
			return err == nil
		})
		return show(w.get())
	case "use":
		w.id = newID(arg(1))
	case "approve":
		_, err = w.api.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "noc", Note: "looks right", Apply: arg(1) == "apply"}))
	case "approve-as": // a person, and apply where it is requested
		_, err = w.api.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: strings.ReplaceAll(arg(1), "_", " "), Apply: arg(2) == "apply"}))
	case "budget": // of the nightly run, in entries, from now on
		w.stop()
		w.cfg.NightlyBudget.Entries, err = strconv.Atoi(arg(1))
		w.start()
	case "nightly": // the nightly run requests a change set
		var r *connect.Response[pushv1.CreateResponse]
		r, err = w.api.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{
			Title: "Alpha pairs of " + arg(1), Author: "alpha nightly", Reason: "2 pairs found", Policy: "hntes-two-queue", IdempotencyKey: arg(1), Nightly: true,
		}))
		if err == nil {
			w.id = r.Msg.GetChange().GetId()
			return show(r.Msg.GetChange())
		}
	case "approval": // the rule from now on, and whether the author counts
		w.stop()
		w.cfg.Approval = Approval{Rule: arg(1), OtherThanAuthor: arg(2) == "other-than-author"}
		w.start()
	case "abort":
		_, err = w.api.Abort(ctx, connect.NewRequest(&pushv1.AbortRequest{Id: id, By: "noc", Note: "calls come in"}))
	case "apply":
		_, err = w.api.Apply(ctx, connect.NewRequest(&pushv1.ApplyRequest{Id: id, By: "noc"}))
	case "rollback":
		_, err = w.api.Rollback(ctx, connect.NewRequest(&pushv1.RollbackRequest{Id: id, By: "noc", Note: "back to day one"}))
	case "freeze": // a router, or all
		_, err = w.api.Freeze(ctx, connect.NewRequest(&pushv1.FreezeRequest{Router: arg(1), By: "noc", Reason: "storm in the core"}))
	case "unfreeze":
		_, err = w.api.Unfreeze(ctx, connect.NewRequest(&pushv1.UnfreezeRequest{Router: arg(1), By: "noc"}))
	case "fault":
		w.routers[arg(1)].Inject(pushtest.Fault(arg(2)))
	case "quirk":
		w.junos[arg(1)].Turn(junostest.Quirk(arg(2)))
	case "own": // an operator's own scheduler map on a port of Junos
		w.junos[arg(1)].Own("class-of-service interfaces", arg(2)+" { scheduler-map "+arg(3)+"; }")
	case "by-hand": // another program changes Junos
		err = w.junos[arg(1)].Load(strings.Join(words[2:], " "))
	case "clear":
		w.routers[arg(1)].Clear()
	case "down":
		w.routers[arg(1)].Down()
	case "up":
		w.routers[arg(1)].Up(w.t)
	case "wipe": // another program takes all entries off the router
		for path := range w.routers[arg(1)].Entries() {
			w.routers[arg(1)].Edit(path, "")
		}
	case "edit": // another program changes the router
		w.routers[arg(1)].Edit(configentry.Queue.Path(arg(2)), `{"name": "`+arg(2)+`"}`)
	case "occupy": // an operator's own scheduler on a port
		w.routers[arg(1)].Edit(configentry.QosInterface.Path(arg(2)), `{"interface-id": "`+arg(2)+`", "output": {"scheduler-policy": {"config": {"name": "gold-silver"}}}}`)
	case "patient": // routers have nine minutes to show their state
		w.stop()
		w.cfg.VerifyFor = 9 * time.Minute
		w.start()
	case "await-checks": // until a router was verified
		w.await(arg(1)+" is verified", func(cs *pushv1.ChangeSet) bool { return len(deviceOf(cs, arg(1)).GetChecks()) > 0 })
	case "restart":
		w.stop()
		w.start()
	case "stop":
		w.stop()
	case "start":
		w.start()
	case "expire": // the time a router waits for its confirmation passes, for all of them
		w.expire()
	case "give-up": // the time in which a router that rolled back on its timer may answer again passes
		w.passed.Add(int64(2 * expiryGrace))
	case "await-hang": // until a call is at the router
		await.True(w.t, "a call hangs at "+arg(1), w.routers[arg(1)].Hangs)
	case "await-down": // until a router failed
		await.True(w.t, arg(1)+" is down", w.routers[arg(1)].IsDown)
	case "await-refused": // until a router failed to confirm or to cancel, and was sent the request again
		await.True(w.t, arg(1)+" refuses", func() bool { return w.routers[arg(1)].Refused() > 1 })
	case "time-out": // of a call that hangs there
		w.routers[arg(1)].TimeOut()
	case "await":
		w.await(arg(1), func(cs *pushv1.ChangeSet) bool { return stateWord(cs.GetState()) == arg(1) })
		return show(w.get())
	case "until":
		w.await(arg(1), func(cs *pushv1.ChangeSet) bool { return stateWord(cs.GetState()) == arg(1) })
	case "await-router":
		w.await(arg(1)+" "+arg(2), func(cs *pushv1.ChangeSet) bool { return deviceWord(deviceOf(cs, arg(1))) == arg(2) })
	case "routers":
		return w.held()
	case "show":
		return show(w.get())
	default:
		w.t.Fatalf("no such command: %v", words)
	}
	if err != nil {
		return normalize(err.Error())
	}
	return ""
}

// held is what is really on the routers.
func (w *world) held() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.routers)) {
		r := w.routers[name]
		pending := "nothing pending"
		if r.Pending() {
			pending = "a commit pending"
		}
		fmt.Fprintf(&b, "%s: %d entries, %s, %d transactions so far\n", name, len(r.Entries()), pending, r.Commits())
	}
	for _, name := range slices.Sorted(maps.Keys(w.junos)) {
		r := w.junos[name]
		pending := "nothing pending"
		if r.Pending() {
			pending = "a commit pending"
		}
		fmt.Fprintf(&b, "%s runs Junos: %d lines of configuration, %s, %d texts committed so far\n", name, strings.Count(r.Config(), "\n"), pending, len(r.Sent()))
	}
	return b.String()
}

func deviceWord(d *pushv1.DeviceChange) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(d.GetState().String(), "DEVICE_STATE_")), "_", "-")
}

func show(cs *pushv1.ChangeSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", cs.GetId(), stateWord(cs.GetState()))
	for _, d := range cs.GetDevices() {
		fmt.Fprintf(&b, "  %s %s, %d entries\n", d.GetDevice(), deviceWord(d), len(d.GetEntries()))
		if d.GetError() != "" {
			fmt.Fprintf(&b, "     %s\n", normalize(d.GetError()))
		}
		for _, c := range d.GetChecks() {
			fmt.Fprintf(&b, "     %s\n", normalize(c))
		}
	}
	for _, n := range cs.GetNotes() {
		fmt.Fprintf(&b, "  note: %s\n", normalize(n))
	}
	for _, why := range cs.GetApprovalRule().GetBecause() {
		fmt.Fprintf(&b, "  it takes a person: %s\n", why)
	}
	for _, t := range cs.GetHistory() {
		fmt.Fprintf(&b, "  %s by %s", stateWord(t.GetState()), t.GetBy())
		if t.GetNote() != "" {
			fmt.Fprintf(&b, ": %s", normalize(t.GetNote()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What differs from run to run: ports, times, and gRPC's texts for a peer that is gone.
var (
	volatileAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	volatileTime    = regexp.MustCompile(`\d\d:\d\d:\d\d`)
	volatileLoss    = regexp.MustCompile(`no answer: [^;\n]*`)
)

func normalize(s string) string {
	s = volatileAddress.ReplaceAllString(s, "ADDRESS")
	s = volatileTime.ReplaceAllString(s, "TIME")
	return volatileLoss.ReplaceAllString(s, "no answer: (…)")
}
