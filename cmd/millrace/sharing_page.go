package main

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/services/dashboard"
)

const (
	sharingPath = "/replicas"
	// sharingTimeout bounds what etcd may take.
	sharingTimeout = 5 * time.Second
)

// shared is what replicas of one service do at the moment.
type shared struct {
	Service string      `json:"service"`
	Kind    sharingKind `json:"kind"`
	Decides string      `json:"decides"`
	// Led: one replica leads, by a key of its own. Leader is its name; empty: nobody leads now.
	Led    bool   `json:"led"`
	Leader string `json:"leader,omitempty"`
	// Members are the replicas that share the work, where they are listed.
	Members []string `json:"members,omitempty"`
}

// readSharing reads who leads and who shares. A process with an etcd of its own has no replica, and so no store for it:
// there is nobody whom it would have to agree with.
func readSharing(ctx context.Context, store *state.Store) (out []shared, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharingTimeout)
	defer cancel()
	kinds := sharings()
	for _, name := range serviceNames() {
		how := kinds[name]
		is := shared{Service: name, Kind: how.kind, Decides: how.decides, Led: how.leader != "" && store != nil}
		if is.Led {
			if is.Leader, err = store.Holder(ctx, how.leader); err != nil {
				return nil, err
			}
		}
		if how.members != "" && store != nil {
			entries, err := store.Keys(ctx, how.members)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				is.Members = append(is.Members, e.Key[len(how.members):])
			}
		}
		out = append(out, is)
	}
	return out, nil
}

// sharingPage answers which replica does what.
func (p *process) sharingPage() dashboard.Mount {
	return dashboard.Mount{
		Path: "GET " + sharingPath,
		Call: func(r *http.Request) rights.Call { return rights.Page(r.URL.Path, rights.Viewer) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.shared == nil && p.state == nil {
				http.Error(w, "this process has no etcd: set etcd.endpoints", http.StatusServiceUnavailable)
				return
			}
			all, err := readSharing(r.Context(), p.shared)
			if err != nil {
				http.Error(w, "who leads is not known: "+err.Error(), http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = writeJSON(w, all) // the client may have left
		}),
	}
}
