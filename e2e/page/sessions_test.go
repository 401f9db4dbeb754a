package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
)

var sessions = flag.Int("sessions", 255, "how many pages are open at once; one more than 256 event streams is refused")

// connections are how many a browser opens to one host over HTTP/1.1.
const connections = 6

// session is one browser with the page open, and a login of its own.
type session struct {
	base   string
	client *http.Client
	events *connect.ServerStreamForClient[eventv1.WatchResponse]
	// opened is how long it took until everything that the page reads first was there.
	opened time.Duration
}

// newSession has no login yet. It speaks HTTP/1.1, as a browser does without TLS.
func newSession(base string) (*session, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &session{base: base, client: &http.Client{Jar: jar, Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}}}, nil
}

// enter uses a login link up.
func (s *session) enter(ctx context.Context, code string) error {
	_, err := identityv1connect.NewIdentityServiceClient(s.client, s.base).Redeem(ctx, connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
	return err
}

// open does what the page does when it is opened (web/index.html, web/src/state): it loads its files, asks who is
// logged in, then everything at once. Its event stream stays open.
func (s *session) open(ctx context.Context) error {
	begin := time.Now()
	if err := s.files(ctx); err != nil {
		return err
	}
	who, err := identityv1connect.NewIdentityServiceClient(s.client, s.base).WhoAmI(ctx, connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil {
		return fmt.Errorf("who am I: %w", err)
	}
	if who.Msg.GetName() == "" {
		return errors.New("the page is not logged in")
	}
	reads := s.reads()
	errs := make([]error, len(reads))
	var asking sync.WaitGroup
	for i, read := range reads {
		asking.Go(func() {
			if err := read.from(ctx); err != nil {
				errs[i] = fmt.Errorf("%s: %w", read.what, err)
			}
		})
	}
	asking.Wait()
	s.opened = time.Since(begin)
	return errors.Join(errs...)
}

var files = regexp.MustCompile(`(?:src|href)="(/[^"]+)"`)

// files loads the page and all that it names.
func (s *session) files(ctx context.Context) error {
	page, err := s.get(ctx, "/")
	if err != nil {
		return err
	}
	named := files.FindAllStringSubmatch(page, -1)
	if len(named) < 3 {
		return fmt.Errorf("the page names %d files", len(named))
	}
	for _, file := range named {
		if _, err := s.get(ctx, file[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) get(ctx context.Context, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || len(raw) == 0) {
		err = fmt.Errorf("%s: %s, %d octets", path, answer.Status, len(raw))
	}
	return string(raw), err
}

// read is one thing that the page reads.
type read struct {
	what string
	from func(context.Context) error
}

// call reads by a call without a body worth checking.
func call[Q, A any](what string, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) read {
	return read{what, func(ctx context.Context) error {
		_, err := method(ctx, connect.NewRequest(request))
		return err
	}}
}

// reads are those of the network's page, which is the first: state/identity.ts, state/network.ts, state/changes.ts and
// state/store.ts.
func (s *session) reads() []read {
	alpha := alphav1connect.NewAlphaServiceClient(s.client, s.base)
	store := flowv1connect.NewFlowStoreServiceClient(s.client, s.base)
	changes := pushv1connect.NewChangeServiceClient(s.client, s.base)
	now := time.Now()
	counters := func(prefix string) *flowv1.TelemetryRequest {
		return &flowv1.TelemetryRequest{PathPrefix: prefix, From: timestamppb.New(now.Add(-3 * time.Minute)), To: timestamppb.New(now.Add(time.Minute))}
	}
	file := func(path string) read {
		return read{path, func(ctx context.Context) error { _, err := s.get(ctx, path); return err }}
	}
	return []read{
		{"events", s.watch},
		call("permissions", identityv1connect.NewIdentityServiceClient(s.client, s.base).Permissions, &identityv1.PermissionsRequest{}),
		call("now", alpha.Now, &alphav1.NowRequest{}),
		{"topology", s.topology},
		call("devices", telemetryv1connect.NewTelemetryCollectorServiceClient(s.client, s.base).Devices, &telemetryv1.DevicesRequest{}),
		call("counters of ports", store.Telemetry, counters("/interfaces")),
		call("counters of queues", store.Telemetry, counters("/qos/interfaces")),
		call("pairs", alpha.List, &alphav1.ListRequest{}),
		call("effectiveness", alpha.Effectiveness, &alphav1.EffectivenessRequest{StoredOnly: true}),
		call("splits", splitv1connect.NewSplitServiceClient(s.client, s.base).Status, &splitv1.StatusRequest{}),
		call("quality", flowv1connect.NewFlowCollectorServiceClient(s.client, s.base).Quality, &flowv1.QualityRequest{}),
		call("change sets", changes.List, &pushv1.ListRequest{Limit: 50}),
		call("freezes", changes.ListFreezes, &pushv1.ListFreezesRequest{}),
		call("drift", changes.ListDrift, &pushv1.ListDriftRequest{}),
		file("/replicas"), file("/version"),
	}
}

// topology has all routers.
func (s *session) topology(ctx context.Context) error {
	answer, err := pathsv1connect.NewPathsServiceClient(s.client, s.base).Topology(ctx, connect.NewRequest(&pathsv1.TopologyRequest{}))
	if err != nil {
		return err
	}
	if n := len(answer.Msg.GetSnapshot().GetNodes()); n < 3 {
		return fmt.Errorf("%d routers", n)
	}
	return nil
}

// watch opens the event stream: it is open once its headers are there.
func (s *session) watch(ctx context.Context) (err error) {
	s.events, err = eventv1connect.NewEventServiceClient(s.client, s.base).Watch(ctx, connect.NewRequest(&eventv1.WatchRequest{Recent: 100}))
	return err
}

// sees returns when the stream has brought an event with this code and a text that has the word.
func (s *session) sees(code, word string) error {
	for s.events.Receive() {
		if e := s.events.Msg().GetEvent(); e.GetCode() == code && strings.Contains(e.GetText(), word) {
			return nil
		}
	}
	return fmt.Errorf("the event stream ended: %w", s.events.Err())
}
