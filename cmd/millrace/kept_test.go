package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/newer"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// forEver keeps what was written in 2026 whenever the test runs.
const forEver = `
flowstore: {retention: 0s, telemetry_retention: 0s, usage_retention: 0s}
push: {keep: {for: 876000h, records_for: 876000h}}
circuits: {keep: 876000h, projects: {astro: {members: [ann]}}}
`

// testdata/kept has what `millrace up` of commit d33dfe4f left (testdata/kept/README.md), as its data folder and as its
// backup. Today's millrace finds all of it, in place and restored, and again after another start.
func TestWhatAnOlderMillraceKeptIsFound(t *testing.T) {
	for name, put := range map[string]func(*machine){
		"its data folder": func(m *machine) { unpack(t, "testdata/kept/data.tar.zst", filepath.Dir(m.file)) },
		"its backup":      func(m *machine) { m.must("restore", "testdata/kept/backup") },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, forEver)
			put(m)
			for range 2 {
				m.hostedWith(func(p *process) { m.findsWhatWasKept(p) }, "circuits")
			}
			// The next millrace runs beside this one, and adds to every record.
			m.hostedWith(func(p *process) {
				if err := p.state.Join(t.Context(), state.Forms{Reads: state.Own.Reads + 1, Writes: state.Own.Writes}, "0.9.0"); err != nil {
					t.Error(err)
				}
				newer.Plant(t, p.state, "changes/", "alpha/", "circuits/book/records/")
				m.findsWhatWasKept(p)
			}, "circuits")
			m.hostedWith(func(p *process) { m.findsWhatWasKept(p) }, "circuits")
		})
	}
}

// findsWhatWasKept compares what services answer with what the older millrace's command line has shown.
func (m *machine) findsWhatWasKept(p *process) {
	t, ctx, http := m.t, m.t.Context(), p.local.Client()
	t.Helper()
	changes := pushv1connect.NewChangeServiceClient(http, rpc.LocalURL)
	pairs, err1 := alphav1connect.NewAlphaServiceClient(http, rpc.LocalURL).List(ctx, connect.NewRequest(&alphav1.ListRequest{}))
	list, err2 := changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{}))
	whole, err3 := changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: "c-kp7xee2f"}))
	freezes, err4 := changes.ListFreezes(ctx, connect.NewRequest(&pushv1.ListFreezesRequest{}))
	var circuits *connect.Response[circuitsv1.ListResponse]
	await.True(t, "the book of circuits is read", func() bool {
		var err error
		circuits, err = circuitsv1connect.NewCircuitsServiceClient(http, rpc.LocalURL).List(ctx, connect.NewRequest(&circuitsv1.ListRequest{}))
		return err == nil
	})
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	top, err5 := flowv1connect.NewFlowStoreServiceClient(http, rpc.LocalURL).Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(day), To: timestamppb.New(day.AddDate(0, 0, 1)), Ipv4Length: 24, Limit: 10,
	}))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pairs.Msg.GetPairs() {
		got = append(got, "pair "+p.GetId()+" "+p.GetSrc()+" "+p.GetDst())
	}
	for _, c := range list.Msg.GetChanges() {
		got = append(got, "change "+c.GetId()+" "+c.GetState().String()+" "+c.GetTitle())
	}
	for _, f := range freezes.Msg.GetFreezes() {
		got = append(got, "freeze "+f.GetRouter()+" "+f.GetBy()+" "+f.GetReason())
	}
	for _, c := range circuits.Msg.GetCircuits() {
		got = append(got, "circuit "+c.GetId()+" "+c.GetTerms().GetFrom()+" "+c.GetTerms().GetTo())
	}
	for _, p := range top.Msg.GetPairs() {
		got = append(got, fmt.Sprintf("flows %s %s of %d bytes", p.GetPair().GetSrc(), p.GetPair().GetDst(), p.GetBytes()))
	}
	slices.Sort(got)
	want := []string{
		"change c-79db6a6cb1 STATE_FAILED alpha pairs: 1 added, 0 removed",
		"change c-kp7xee2f STATE_FAILED Policy hntes-two-queue",
		"circuit 01a223d0-34d8-7b75-bed5-31bb16cde337 WR ER",
		"flows 10.1.0.0/24 10.2.0.0/24 of 2000000000 bytes",
		"flows 10.3.0.0/24 10.4.0.0/24 of 1234567 bytes",
		"freeze WR ann works on the fibre",
		"pair pajznlx3iv77i 10.1.0.0/24 10.2.0.0/24",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("found (-got +want):\n%s", d)
	}
	if d := whole.Msg.GetChange().GetDevices(); len(d) != 1 || len(d[0].GetPlan().GetLsps()) != 1 || len(d[0].GetPlan().GetEntries()) != 11 {
		t.Errorf("the plan of the change set has %d routers, want one with an LSP and 11 entries", len(d))
	}
	if form, err := p.state.Form(ctx); err != nil || form != state.Own.Writes {
		t.Errorf("the form is %d, %v", form, err)
	}
}

// unpack reads a tar archive.
func unpack(t *testing.T, archive, folder string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	for files := tar.NewReader(packed); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackOne(filepath.Join(folder, h.Name), h, files)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackOne(path string, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o700)
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
