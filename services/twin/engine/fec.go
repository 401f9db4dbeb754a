package engine

// AddRoute adds a route that several flows share as one forwarding equivalence class (FEC). Where a router balances
// per packet, the flows of a FEC take turns together, not each on its own: papers 000 and 003, section I-A, and
// routers send the packets of one FEC to the next hops in turn.
func (n *Net) AddRoute(r Route) (Route, error) {
	start, err := n.addRoute(r)
	if err != nil {
		return Route{}, err
	}
	return Route{known: start + 1}, nil
}
