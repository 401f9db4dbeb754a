package flowstore

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// A sample is a rate, not a counter: where there are many, their mean
// stands for a step. FINAL: what was delivered twice must not weigh twice.
const vpnSeriesSQL = `
SELECT vpn, ingress, egress, max(time) AS last, avg(throughput), avg(fair_share), avg(window), avg(rtt), avg(loss), avg(queue),
	argMax(weight, time), argMax(drops, time)
FROM vpn_flows FINAL
WHERE time >= ? AND time < ? AND (vpn = ? OR ? = '') AND (? = 0 OR (vpn, ingress, egress) IN (
	SELECT vpn, ingress, egress FROM vpn_flows WHERE time >= ? AND time < ? AND (vpn = ? OR ? = '')
	GROUP BY vpn, ingress, egress ORDER BY sum(throughput) DESC, vpn LIMIT ?))
GROUP BY vpn, ingress, egress, intDiv(toUnixTimestamp64Milli(time), ?) AS step
ORDER BY vpn, ingress, egress, step`

const vpnFlowsOf = "(SELECT DISTINCT vpn, ingress, egress FROM vpn_flows WHERE time >= ? AND time < ? AND (vpn = ? OR ? = ''))"

// vpnPoint is how many points of a counter one of a VPN flow takes the room of.
const vpnPoint = 2

const vpnFairnessSQL = `
SELECT max(time) AS last, avg(fairness), avg(jain), argMax(active, time), avg(throughput)
FROM vpn_fairness FINAL
WHERE time >= ? AND time < ?
GROUP BY intDiv(toUnixTimestamp64Milli(time), ?) AS step
ORDER BY step`

// VpnSeries implements FlowStoreService.
func (a *api) VpnSeries(ctx context.Context, req *connect.Request[flowv1.VpnSeriesRequest]) (*connect.Response[flowv1.VpnSeriesResponse], error) {
	db, err := a.database()
	if err != nil {
		return nil, err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	out := &flowv1.VpnSeriesResponse{}
	if out.Flows, err = vpnFlows(ctx, db, req.Msg, from, to); err != nil {
		return nil, err
	}
	one, err := stepOf(1, to.Sub(from))
	if err != nil {
		return nil, err
	}
	if out.Fairness, err = vpnFairness(ctx, db, from, to, one); err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

func vpnFlows(ctx context.Context, db store.DB, req *flowv1.VpnSeriesRequest, from, to time.Time) ([]*flowv1.VpnFlowSeries, error) {
	vpn, limit := req.GetVpn(), req.GetLimit()
	flows, err := store.Count(ctx, db, vpnFlowsOf, from, to, vpn, vpn)
	if err != nil {
		return nil, fmt.Errorf("count VPN flows: %w", err)
	}
	if limit > 0 {
		flows = min(flows, uint64(limit))
	}
	step, err := stepOf(vpnPoint*flows, to.Sub(from))
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, vpnSeriesSQL, from, to, vpn, vpn, limit, from, to, vpn, vpn, max(limit, 1), step)
	if err != nil {
		return nil, fmt.Errorf("read VPN flows: %w", err)
	}
	defer rows.Close()
	var all []*flowv1.VpnFlowSeries
	for rows.Next() {
		var name, ingress, egress string
		var at time.Time
		p := &flowv1.VpnPoint{}
		err := rows.Scan(&name, &ingress, &egress, &at, &p.Throughput, &p.FairShare, &p.Window, &p.RttSeconds, &p.Loss, &p.Queue, &p.Weight, &p.Drops)
		if err != nil {
			return nil, fmt.Errorf("read VPN flows: %w", err)
		}
		if n := len(all); n == 0 || all[n-1].Vpn != name || all[n-1].Ingress != ingress || all[n-1].Egress != egress {
			all = append(all, &flowv1.VpnFlowSeries{Vpn: name, Ingress: ingress, Egress: egress})
		}
		p.Time = timestamppb.New(at)
		s := all[len(all)-1]
		s.Points = append(s.Points, p)
	}
	return all, rows.Err()
}

func vpnFairness(ctx context.Context, db store.DB, from, to time.Time, step int64) (out []*flowv1.VpnFairness, err error) {
	rows, err := db.Query(ctx, vpnFairnessSQL, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("read fairness: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at time.Time
		f := &flowv1.VpnFairness{}
		if err := rows.Scan(&at, &f.Fairness, &f.Jain, &f.Active, &f.Throughput); err != nil {
			return nil, fmt.Errorf("read fairness: %w", err)
		}
		f.Time = timestamppb.New(at)
		out = append(out, f)
	}
	return out, rows.Err()
}
