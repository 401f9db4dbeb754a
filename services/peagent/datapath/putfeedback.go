package datapath

import "sync/atomic"

// PutFeedback writes feedback as core_in does, for benchmarks of the control loop without a network.
func (m *memory) PutFeedback(flow uint32, sequence, sent, received, rtt, now uint64) {
	p := &m.feedback[flow]
	atomic.StoreUint64(&p.Begin, sequence)
	p.Sent, p.Received, p.Rtt, p.At = sent, received, rtt, now
	atomic.StoreUint64(&p.End, sequence)
}
