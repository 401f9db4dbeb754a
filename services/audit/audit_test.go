package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	_ "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	_ "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// told is a record as these tests compare it.
func told(r *auditv1.Record) string {
	return strings.Join([]string{r.GetUser(), r.GetCredentialKind(), r.GetFrom(), r.GetProcedure()[strings.LastIndex(r.GetProcedure(), "/")+1:], r.GetObject(), r.GetReason(), r.GetResult(), r.GetRefusal()}, "|")
}

// TestWhatIsRecorded makes one call of each kind, and reads the list.
func TestWhatIsRecorded(t *testing.T) {
	w := start(t, etcd.Shared(t))
	if err := w.approve(ann, "cs-1", "seen"); err != nil {
		t.Fatal(err)
	}
	token := caller{"Name": "bob", "Role": "operator", "Token": "yes"}
	for _, step := range []struct {
		make func() error
		want connect.Code
	}{
		{func() error { return w.approve(ann, "none", "") }, connect.CodeNotFound},
		{func() error { return w.approve(token, "cs-1", "a note of a call that is refused") }, connect.CodePermissionDenied},
		{func() error { return w.approve(caller{}, "cs-1", "") }, connect.CodeUnauthenticated},
		{func() error { return w.approve(caller{"Role": "forged"}, "cs-1", "") }, connect.CodeUnauthenticated},
		{func() error { return w.approve(caller{"Role": "away"}, "cs-1", "") }, connect.CodeUnavailable},
		{func() error {
			_, err := w.as(token).Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Title: "move w1 to e1", Reason: "CHG0001"}))
			return err
		}, 0},
		{func() error {
			_, err := w.as(token).List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
			return err
		}, 0},
	} {
		if err := step.make(); codeIn(err) != step.want {
			t.Fatalf("%v, want %v", err, step.want)
		}
	}
	var got []string
	for _, r := range w.list(t, &auditv1.ListRequest{}).GetRecords() {
		got = append(got, told(r))
	}
	slices.Reverse(got)
	want := []string{
		"ann|session|127.0.0.1|Approve|cs-1|seen|ok|",
		"ann|session|127.0.0.1|Approve|none||not_found|",
		"bob|token|127.0.0.1|Approve|||permission_denied|role",
		"||127.0.0.1|Approve|||unauthenticated|no-login",
		"||127.0.0.1|Approve|||unauthenticated|credentials",
		"bob|token|127.0.0.1|Create|move w1 to e1 cs-7|CHG0001|ok|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	whole(t, kept(t, w.deps.State))
}

func codeIn(err error) connect.Code {
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}

// A service calls for somebody, in the process; both are recorded.
func TestCallsOfServices(t *testing.T) {
	w := start(t, etcd.Shared(t))
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewChangeServiceHandler(w.changes, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(rpc.As(rights.Caller{Name: "millrace", Role: rights.Service}, w.Recorder, mux))
	defer local.Close()
	if _, err := pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL).Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: "cs-1", By: "circuits"})); err != nil {
		t.Fatal(err)
	}
	all := w.list(t, &auditv1.ListRequest{}).GetRecords()
	if len(all) != 1 || told(all[0]) != "millrace|service||Approve|cs-1||ok|" || all[0].GetOnBehalf() != "circuits" {
		t.Errorf("%v", all)
	}
}

// planner answers each batch of circuits.
type planner struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
}

func (planner) RequestAll(context.Context, *connect.Request[circuitsv1.RequestAllRequest]) (*connect.Response[circuitsv1.RequestAllResponse], error) {
	return connect.NewResponse(&circuitsv1.RequestAllResponse{}), nil
}

// A page asks for a dry run again and again while a form is open: it must not push other records out of the log.
func TestADryRunLeavesNoRecord(t *testing.T) {
	w := start(t, etcd.Shared(t))
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(planner{}, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(rpc.As(rights.Caller{Name: "ann", Role: rights.Operator, Session: true}, w.Recorder, mux))
	defer local.Close()
	client := circuitsv1connect.NewCircuitsServiceClient(local.Client(), rpc.LocalURL)
	for _, dry := range []bool{true, false} {
		if _, err := client.RequestAll(t.Context(), connect.NewRequest(&circuitsv1.RequestAllRequest{RequestId: fmt.Sprint("dry-", dry), DryRun: dry})); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range w.list(t, &auditv1.ListRequest{}).GetRecords() {
		got = append(got, told(r))
	}
	if want := []string{"ann|session||RequestAll|dry-false||ok|"}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestListing: pages, filters, and a call that has no result yet.
func TestListing(t *testing.T) {
	w := start(t, etcd.Shared(t))
	for i := range 25 {
		if err := w.approve(caller{"Name": []string{"ann", "bob"}[i%2], "Role": "approver"}, fmt.Sprint("cs-", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for before := uint64(0); ; {
		page := w.list(t, &auditv1.ListRequest{User: "AN", Procedure: "changeservice/app", Limit: 4, Before: before})
		for _, r := range page.GetRecords() {
			ids = append(ids, r.GetObject())
		}
		if before = page.GetBefore(); before == 0 {
			break
		}
	}
	if len(ids) != 13 || ids[0] != "cs-24" || ids[12] != "cs-0" {
		t.Errorf("ann's calls: %v", ids)
	}
	if none := w.list(t, &auditv1.ListRequest{User: "carl"}).GetRecords(); len(none) != 0 {
		t.Errorf("carl's calls: %v", none)
	}
	w.changes.approved = make(chan string)
	made := make(chan error)
	go func() { made <- w.approve(ann, "slow", "") }()
	newest := func() *auditv1.Record { return w.list(t, &auditv1.ListRequest{Limit: 1}).GetRecords()[0] }
	for newest().GetObject() != "slow" {
		time.Sleep(time.Millisecond)
	}
	if r := newest(); r.GetKind() != auditv1.Kind_KIND_BEGUN || r.GetResult() != "" {
		t.Errorf("a call that is under way: %v", r)
	}
	<-w.changes.approved
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	if two := w.list(t, &auditv1.ListRequest{Limit: 2}).GetRecords(); told(two[0]) != "ann|session|127.0.0.1|Approve|slow||ok|" || two[1].GetObject() != "cs-24" {
		t.Errorf("after its end: %v", two)
	}
}

// TestEtcdAway stops a real etcd: what cannot be recorded is not done, and later the log says that it was not.
func TestEtcdAway(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	s, err := state.Dial([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := start(t, s)
	w.changes.approved = make(chan string, 10)
	if err := w.approve(ann, "before", ""); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	server.Stop()
	w.writer.patience = 300 * time.Millisecond // only for what must find etcd away
	if err := w.approve(ann, "meanwhile", ""); codeIn(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("etcd is away: %v", err)
	}
	if err := w.approve(caller{"Name": "bob", "Role": "viewer"}, "refused", ""); codeIn(err) != connect.CodePermissionDenied {
		t.Errorf("a refusal: %v", err)
	}
	server.Again(t)
	w.settle(t)
	w.writer.patience = await.Patience
	if err := w.approve(ann, "after", ""); err != nil {
		t.Fatal(err)
	}
	close(w.changes.approved)
	var done, listed []string
	for id := range w.changes.approved {
		done = append(done, id)
	}
	if !slices.Equal(done, []string{"before", "after"}) {
		t.Errorf("done: %v", done)
	}
	for _, r := range w.list(t, &auditv1.ListRequest{}).GetRecords() {
		listed = append(listed, told(r))
	}
	slices.Reverse(listed)
	if want := []string{
		"ann|session|127.0.0.1|Approve|before||ok|", "ann|session|127.0.0.1|Approve|meanwhile||unavailable|audit",
		"bob|session|127.0.0.1|Approve|||permission_denied|role", "ann|session|127.0.0.1|Approve|after||ok|",
	}; !slices.Equal(listed, want) {
		t.Errorf("listed:\n%s", strings.Join(listed, "\n"))
	}
	whole(t, kept(t, s))
}

// TestRetention drops the oldest, and the chain is whole still; what an editor drops is found.
func TestRetention(t *testing.T) {
	w := start(t, etcd.Shared(t))
	w.writer.tail.keep = 200
	for i := range 1234 {
		w.writer.later(&auditv1.Record{Kind: auditv1.Kind_KIND_ENDED, User: "ann", Object: fmt.Sprint(i)})
	}
	w.settle(t)
	l := kept(t, w.deps.State)
	whole(t, l)
	if n := len(l.Records); n < 200 || n > 300 || l.Anchor.GetSeq()+uint64(n) != l.Head.GetSeq() {
		t.Errorf("%d records after %d, up to %d", n, l.Anchor.GetSeq(), l.Head.GetSeq())
	}
	first := l.Records[0]
	if err := w.deps.State.Apply(t.Context(), state.Op{Key: recordKey(first.GetSeq())},
		state.Op{Key: anchorKey, Value: &auditv1.Mark{Seq: first.GetSeq(), Hash: first.GetHash()}}); err != nil {
		t.Fatal(err)
	}
	if problems := chainProblems(t, w); !slices.Equal(problems, []string{"anchor"}) {
		t.Errorf("an editor who moved the anchor: %v", problems)
	}
}

// TestLogins: one that succeeds has a record before its answer; those that fail fill no log.
func TestLogins(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w := start(t, etcd.Shared(t), func(_ *Configuration, d *Dependencies) { d.Now = func() time.Time { return noon } })
	login := rpc.Asked{Call: rights.Call{Procedure: "/millrace.identity.v1.IdentityService/Login", Needs: rights.Nobody, Changes: true}, From: "192.0.2.1"}
	try := func(name string, answer error) error {
		end, err := w.Begin(t.Context(), login, &identityv1.LoginRequest{Name: name, Password: "correct horse battery"})
		if err != nil {
			t.Fatal(err)
		}
		var response proto.Message
		if answer == nil {
			response = &identityv1.LoginResponse{Name: name}
		}
		return end(t.Context(), response, answer)
	}
	no := connect.NewError(connect.CodeUnauthenticated, errors.New("no"))
	if err := try("ann", nil); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if err := try("bob", no); !errors.Is(err, no) {
			t.Fatal(err)
		}
	}
	if err := try("correct horse battery", no); err == nil {
		t.Fatal("it succeeded")
	}
	w.flush(false)
	const guesses = 1000
	for i := range guesses {
		_ = try(fmt.Sprint("guess-", i), no) // which is what a login that fails answers
	}
	w.flush(true)
	w.settle(t)
	l := kept(t, w.deps.State)
	whole(t, l)
	want := []string{"ann|||ok|0", "|||unauthenticated|0", "|||unauthenticated|0", "|||unauthenticated|4999"}
	for i, r := range l.Records[:4] {
		if got := fmt.Sprint(r.GetUser(), "|", r.GetCredentialKind(), "|", r.GetReason(), "|", r.GetResult(), "|", r.GetTimes()); got != want[i] {
			t.Errorf("record %d: %s, want %s", i+1, got, want[i])
		}
	}
	if o := l.Records[2].GetObject(); o != "(not a name)" {
		t.Errorf("a password in the place of a name is recorded as %q", o)
	}
	last := l.Records[len(l.Records)-1]
	share := DefaultConfiguration().Records / strangersPart // of which the three before took three
	if len(l.Records) != 1+share+1 || int(last.GetTimes()) != guesses-(share-3) || last.GetRefusal() != strangers {
		t.Errorf("%d records, the last: %v", len(l.Records), last)
	}
	for _, r := range l.Records {
		if strings.Contains(r.String(), "horse") {
			t.Errorf("a password is in %v", r)
		}
	}
}

// TestNoSecretIsRecorded sets every text of every request that changes something, and reads what is recorded.
func TestNoSecretIsRecorded(t *testing.T) {
	want := map[string]string{
		"AlphaService/Nightly": "|", "FlowCollectorService/Import": "|", "VpnAgentService/Install": "policy|",
		"CircuitsService/Request": "request_id|", "CircuitsService/RequestAll": "request_id|", "CircuitsService/Commit": "id|note",
		"CircuitsService/Extend": "id|", "CircuitsService/Modify": "id|note", "CircuitsService/Reoptimise": "id|", "CircuitsService/Release": "id|note",
		"CircuitsService/Activate": "id|note", "CircuitsService/Deactivate": "id|note",
		"CircuitsService/AddMaintenance": "id|reason", "CircuitsService/RemoveMaintenance": "id|note",
		"ChangeService/Create": "title|reason", "ChangeService/Approve": "id|note", "ChangeService/Apply": "id|", "ChangeService/Rollback": "id|note",
		"ChangeService/Abort": "id|note", "ChangeService/Freeze": "router|reason", "ChangeService/Unfreeze": "router|note",
		"AlphaService/Redirect": "|note",
		"VpnService/SetWeights": "|reason", "VpnService/ApplyPolicy": "policy|reason", "VpnService/Restore": "|reason",
		"IdentityService/Login": "name|", "IdentityService/Redeem": "|", "IdentityService/EndProviderLogin": "|", "IdentityService/EndDeviceLogin": "|", "IdentityService/BackChannelLogout": "|", "IdentityService/Logout": "|", "IdentityService/CreateLink": "|", "IdentityService/CreateToken": "name|",
		"IdentityService/RevokeToken": "id|", "IdentityService/SetPassword": "name|", "IdentityService/PutUser": "name|", "IdentityService/DeleteUser": "name|",
	}
	for _, c := range rights.Calls() {
		if !c.Changes {
			continue
		}
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(c.Procedure[1:], "/", ".")))
		if err != nil {
			t.Fatal(err)
		}
		kind, err := protoregistry.GlobalTypes.FindMessageByName(d.(protoreflect.MethodDescriptor).Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		m := kind.New()
		for i := range m.Descriptor().Fields().Len() {
			if f := m.Descriptor().Fields().Get(i); f.Kind() == protoreflect.StringKind && !f.IsList() {
				m.Set(f, protoreflect.ValueOfString(string(f.Name())))
			}
		}
		parts := strings.Split(c.Procedure, ".")
		short := parts[len(parts)-1]
		if got, known := objectOf(m.Interface())+"|"+reasonOf(m.Interface()), want[short]; got != known {
			t.Errorf("of %s are recorded %s, want %q: look whether these are no secrets", short, got, known)
		}
	}
}

// Where nobody logs in there is nothing to record.
func TestLoginsThatAreOff(t *testing.T) {
	c, err := New(DefaultConfiguration(), Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Recorder() != nil {
		t.Error("calls are recorded")
	}
	if _, err := (&api{c}).List(t.Context(), connect.NewRequest(&auditv1.ListRequest{})); !errors.Is(err, errOff) {
		t.Error(err)
	}
	if _, err := New(Configuration{Records: 10}, Dependencies{}); err == nil {
		t.Error("a log of 10 records is taken")
	}
}
