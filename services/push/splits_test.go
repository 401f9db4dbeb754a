package push

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

func portSplit(router, port string, beta uint32) *policyv1.PortSplit {
	return &policyv1.PortSplit{Router: router, Interface: port, Beta: beta}
}

// splitting requests a change set with splits.
func (w *world) splitting(key string, splits ...*policyv1.PortSplit) *pushv1.ChangeSet {
	w.t.Helper()
	r, err := w.api.Create(w.t.Context(), connect.NewRequest(&pushv1.CreateRequest{
		Author: "ann", Policy: "hntes-two-queue", IdempotencyKey: key, Splits: splits,
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.id = r.Msg.GetChange().GetId()
	return r.Msg.GetChange()
}

func (w *world) planned() []*policyv1.PortSplit {
	w.plans.mu.Lock()
	defer w.plans.mu.Unlock()
	return w.plans.splits
}

// Splits hold from the change set that was verified with them until another replaces them, also in change sets that say
// nothing of them; a rollback brings back those before.
func TestSplitsStayInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := []*policyv1.PortSplit{portSplit("er", "ge-0", 20), portSplit("wr", "ge-1", 30)}
	w.splitting("first", first[1], first[0])
	if diff := cmp.Diff(w.planned(), first, protocmp.Transform()); diff != "" {
		t.Errorf("the first plan (-got +want):\n%s", diff)
	}
	w.splitting("beside")
	if got := w.planned(); len(got) != 0 {
		t.Errorf("splits that nobody approved are planned: %v", got)
	}
	w.splitting("again", first...)
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")

	w.plans.set("heavier")
	w.splitting("other", portSplit("wr", "ge-1", 40))
	want := []*policyv1.PortSplit{portSplit("er", "ge-0", 20), portSplit("wr", "ge-1", 40)}
	if diff := cmp.Diff(w.planned(), want, protocmp.Transform()); diff != "" {
		t.Errorf("one of two replaced (-got +want):\n%s", diff)
	}
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled")
	w.splitting("silent")
	if diff := cmp.Diff(w.planned(), first, protocmp.Transform()); diff != "" {
		t.Errorf("after the rollback (-got +want):\n%s", diff)
	}
}

// A plan is of the policy as a whole: one that was made before others' splits came into force would undo them.
func TestAPlanBesideOtherSplitsIsOutdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.splitting("first", portSplit("er", "ge-0", 20)).GetId()
	w.plans.set("heavier")
	beside := w.splitting("beside").GetId() // created later, so that the first does not supersede it
	w.id = first
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.id = beside
	must(t, w.command([]string{"approve", "apply"}), "it was planned before the split of ge-0 of er changed from the policy's to 20 %; request a new one")
	must(t, w.command([]string{"show"}), beside+": failed")
}

func TestASplitThatIsNotFollowedIsANote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.refusedSplits = []*policyv1.RefusedSplit{
		{Split: portSplit("wr", "ge-9", 30), Reason: "the port gets no queues"}, {Split: portSplit("er", "old", 30), Reason: "in force before"},
	}
	cs := w.splitting("lost", portSplit("wr", "ge-9", 30))
	if want := "the split of 30 % on ge-9 of wr is not followed: the port gets no queues"; !slices.Contains(cs.GetNotes(), want) {
		t.Errorf("notes: %q", cs.GetNotes())
	}
	if slices.ContainsFunc(cs.GetNotes(), func(n string) bool { return n != "" && n[len(n)-6:] == "before" }) {
		t.Errorf("a split that nobody asked for is noted: %q", cs.GetNotes())
	}
}

func TestWhichSplitsAreInForce(t *testing.T) {
	change := func(policy string, hour int64, state pushv1.State, beta uint32) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Policy: policy, Created: &timestamppb.Timestamp{Seconds: 3600 * hour}, State: state, Splits: []*policyv1.PortSplit{portSplit("r", "p", beta)}}
	}
	repair := change("a", 9, pushv1.State_STATE_VERIFIED, 9)
	repair.Repairs = []string{"r"}
	late := change("c", 1, pushv1.State_STATE_VERIFIED, 1) // it was requested first, and planned last
	late.History = []*pushv1.Transition{{State: pushv1.State_STATE_PLANNED, Time: &timestamppb.Timestamp{Seconds: 3600 * 5}}}
	all := []*pushv1.ChangeSet{
		change("a", 1, pushv1.State_STATE_VERIFIED, 1), change("a", 4, pushv1.State_STATE_VERIFIED, 4), change("a", 2, pushv1.State_STATE_EMPTY, 2),
		change("a", 5, pushv1.State_STATE_ROLLED_BACK, 5), change("a", 6, pushv1.State_STATE_PLANNED, 6), change("a", 7, pushv1.State_STATE_FAILED, 7),
		change("b", 8, pushv1.State_STATE_VERIFIED, 8), repair, late, change("c", 3, pushv1.State_STATE_VERIFIED, 3),
	}
	for policy, want := range map[string]uint32{"a": 4, "b": 8, "c": 1} {
		if got := SplitsInForce(all, policy); len(got) != 1 || got[0].GetBeta() != want {
			t.Errorf("%s: %v, want %d", policy, got, want)
		}
	}
	if got := SplitsInForce(all, "d"); len(got) != 0 {
		t.Errorf("of a policy without change sets: %v", got)
	}
}

// A draft may wait until one that was requested after it is in force. It is planned after that one, and so are its
// splits.
func TestTheSplitsOfADraftThatWaitedAreInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, err := w.push.created(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []*policyv1.PortSplit{portSplit("wr", "ge-1", 30)}
	waits := &pushv1.ChangeSet{
		Id: "c-waits", Title: "it waits", Author: "services/split", Policy: "hntes-two-queue", Splits: want, Created: at, State: pushv1.State_STATE_DRAFT,
		History: w.push.transitions([]rollout.Move{{To: rollout.Draft, By: "services/split"}}),
	}
	if _, err := w.deps.State.Put(t.Context(), recordPrefix+waits.GetId(), 0, waits); err != nil {
		t.Fatal(err)
	}
	w.verify("meanwhile")
	w.plans.set("heavier") // the plan with the split
	w.push.planLeft(t.Context(), waits.GetId())
	w.id = waits.GetId()
	must(t, w.command([]string{"show"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	all, err := w.push.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(SplitsInForce(all, "hntes-two-queue"), want, protocmp.Transform()); diff != "" {
		t.Errorf("in force (-got +want):\n%s", diff)
	}
	w.splitting("next")
	if diff := cmp.Diff(w.planned(), want, protocmp.Transform()); diff != "" {
		t.Errorf("the next plan (-got +want):\n%s", diff)
	}
}

// The topology lacks wr, so nobody sent it the split that was requested for it.
func TestASplitOfARouterThatIsLeftAloneIsNotInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verify("day-1")
	w.plans.set("wr-absent")
	w.plans.refusedSplits = []*policyv1.RefusedSplit{{Split: portSplit("wr", "ge-1", 30), Reason: "the topology lacks wr"}}
	cs := w.splitting("split", portSplit("wr", "ge-1", 30))
	if last := cs.GetHistory()[len(cs.GetHistory())-1]; last.GetState() != pushv1.State_STATE_EMPTY || !strings.HasSuffix(last.GetNote(), "left alone: wr") {
		t.Errorf("planned, it is %s: %s", stateWord(last.GetState()), last.GetNote())
	}
	w.plans.set("")
	w.plans.refusedSplits = nil
	w.splitting("nightly")
	if got := w.planned(); len(got) != 0 {
		t.Errorf("the next plan has a split that no router ever had: %v", got)
	}
}

// What was requested and is not followed leaves the split that was in force before. That one stays although a plan
// cannot follow it, such as of a port that is down for the moment.
func TestWhichSplitsAPlanFollows(t *testing.T) {
	before := []*policyv1.PortSplit{portSplit("away", "p", 10), portSplit("r", "down", 10), portSplit("r", "down-and-asked-for", 10), portSplit("r", "up", 10)}
	requested := []*policyv1.PortSplit{
		portSplit("away", "p", 20), portSplit("away", "q", 20), portSplit("r", "beyond", 90), portSplit("r", "beyond-and-usual", 1),
		portSplit("r", "down-and-asked-for", 20), portSplit("r", "no-queues", 20), portSplit("r", "up", 20),
	}
	plan := &policyv1.PlanResponse{Plans: []*policyv1.RouterPlan{
		{Router: "r", Ports: []*policyv1.PortScheduling{{Interface: "beyond", Split: 60}, {Interface: "beyond-and-usual"}, {Interface: "up", Split: 20}}},
		{Router: "away", Ports: []*policyv1.PortScheduling{{Interface: "p", Split: 20}}},
	}}
	for _, refused := range []*policyv1.PortSplit{before[1], requested[1], requested[2], requested[3], requested[4], requested[5]} {
		plan.RefusedSplits = append(plan.RefusedSplits, &policyv1.RefusedSplit{Split: refused})
	}
	want := []*policyv1.PortSplit{
		portSplit("away", "p", 10), portSplit("r", "beyond", 60), portSplit("r", "down", 10), portSplit("r", "down-and-asked-for", 10), portSplit("r", "up", 20),
	}
	if diff := cmp.Diff(followedSplits(before, requested, plan, []string{"away"}), want, protocmp.Transform()); diff != "" {
		t.Errorf("followed (-got +want):\n%s", diff)
	}
}

// forSplit requests a change set as services/split does.
func (w *world) forSplit(key string, ask bool, splits ...*policyv1.PortSplit) *pushv1.ChangeSet {
	w.t.Helper()
	r, err := w.api.Create(w.t.Context(), connect.NewRequest(&pushv1.CreateRequest{
		Author: "split", Policy: "hntes-two-queue", IdempotencyKey: key, ForSplit: true, Ask: ask, Splits: splits,
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.id = r.Msg.GetChange().GetId()
	return r.Msg.GetChange()
}

// A change set that changes nothing but splits has a rule of its own, if there is one; other changes of the policy need
// the policy's, and what is proposed needs a person under any rule.
func TestSplitsGoByThemselvesAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.ApprovalForSplits = Approval{Rule: "auto"}
	must(t, w.command([]string{"restart"}), "")
	if cs := w.forSplit("first", false); cs.GetApprovalRule().GetPersons() != 1 || !slices.Contains(cs.GetApprovalRule().GetBecause(), "it changes more than splits on wr") {
		t.Errorf("where nothing was in force: %v", cs.GetApprovalRule())
	}
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")

	w.plans.set("split")
	cs := w.forSplit("proposed", true, portSplit("wr", "ge-er", 30))
	if cs.GetApprovalRule().GetPersons() != 1 || !slices.Equal(cs.GetApprovalRule().GetBecause(), []string{"split wants a person to decide"}) || cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Errorf("proposed: %s, %v", cs.GetState(), cs.GetApprovalRule())
	}
	w.forSplit("applied", false, portSplit("wr", "ge-er", 30))
	if text := w.command([]string{"await", "verified"}); !strings.Contains(text, "approved by rule push.approval: it changes nothing but splits") {
		t.Errorf("applied: %s", text)
	}
	w.plans.set("with-circuit")
	if cs := w.forSplit("and more", false, portSplit("wr", "ge-er", 40)); cs.GetApprovalRule().GetPersons() != 1 || cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Errorf("it changes an LSP, too, and is %s under %v", cs.GetState(), cs.GetApprovalRule())
	}
}

// Without a rule of their own, splits have that of the policy.
func TestSplitsHaveThePolicysRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.plans.set("split")
	if cs := w.forSplit("applied", false, portSplit("wr", "ge-er", 30)); cs.GetApprovalRule().GetPersons() != 1 || len(cs.GetApprovalRule().GetBecause()) > 0 {
		t.Errorf("%v", cs.GetApprovalRule())
	}
}

// The routers' names stay: a role may be limited to some.
func TestABriefListLeavesOutPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	whole, err1 := w.api.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	brief, err2 := w.api.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{Brief: true}))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	want, got := whole.Msg.GetChanges()[0], brief.Msg.GetChanges()[0]
	if len(want.GetDevices()) == 0 || len(want.GetDevices()[0].GetEntries()) == 0 {
		t.Fatal("the list has no routers")
	}
	for _, d := range want.GetDevices() {
		d.Plan, d.Entries, d.Diff = nil, nil, ""
	}
	if diff := cmp.Diff(got, want, protocmp.Transform()); diff != "" {
		t.Errorf("brief (-got +want):\n%s", diff)
	}
}

// withSplit is a plan with other weights in its entries.
func withSplit(p *policyv1.RouterPlan) *policyv1.RouterPlan {
	out := proto.CloneOf(p)
	out.Entries, out.Reasons = heavier(p).GetEntries(), []string{"on ge-er queue beta is guaranteed 30 %, not 5 %, by the split in force"}
	return out
}

func TestWhatOfAPlanDependsOnSplits(t *testing.T) {
	plan := func(change func(*policyv1.RouterPlan)) *policyv1.RouterPlan {
		p := &policyv1.RouterPlan{
			Router: "wr", Queues: []*policyv1.Queue{{Name: "beta", Weight: 5}}, Rules: []*policyv1.RedirectRule{{Pair: "p"}},
			Ports: []*policyv1.PortScheduling{{Interface: "ge-er", Speed: 10e9}},
		}
		change(p)
		return p
	}
	was := plan(func(*policyv1.RouterPlan) {})
	for name, c := range map[string]struct {
		same   bool
		change func(*policyv1.RouterPlan)
	}{
		"a split": {true, func(p *policyv1.RouterPlan) {
			p.Ports[0].Split, p.Ports[0].Queues = 30, []*policyv1.Queue{{Name: "beta", Weight: 30}}
		}},
		"entries":        {true, func(p *policyv1.RouterPlan) { p.Entries = []*policyv1.ConfigEntry{{Path: "/x"}} }},
		"a port's speed": {false, func(p *policyv1.RouterPlan) { p.Ports[0].Speed = 1e9 }},
		"a port more": {false, func(p *policyv1.RouterPlan) {
			p.Ports = append(p.Ports, &policyv1.PortScheduling{Interface: "ge-cr"})
		}},
		"a weight of all ports": {false, func(p *policyv1.RouterPlan) { p.Queues[0].Weight = 6 }},
		"a rule":                {false, func(p *policyv1.RouterPlan) { p.Rules[0].Pair = "q" }},
	} {
		if got := proto.Equal(withoutSplits(was), withoutSplits(plan(c.change))); got != c.same {
			t.Errorf("%s: the same %v", name, got)
		}
	}
	if was.GetPorts()[0].GetSpeed() != 10e9 {
		t.Error("the plan was changed")
	}
}

// With logins a person cannot choose the rule of services/split.
func TestAPersonIsNotTheSplitService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for role, code := range map[rights.Role]connect.Code{rights.Operator: connect.CodePermissionDenied, rights.Admin: connect.CodePermissionDenied, rights.Service: 0} {
		ctx := rights.With(t.Context(), rights.Caller{Name: "eve", Role: role})
		_, err := (&api{w.push}).Create(ctx, connect.NewRequest(&pushv1.CreateRequest{Author: "split", Policy: "hntes-two-queue", ForSplit: true}))
		if code == 0 != (err == nil) || err != nil && connect.CodeOf(err) != code {
			t.Errorf("%v: %v", role, err)
		}
	}
}
