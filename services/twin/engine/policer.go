package engine

import "github.com/millrace/millrace/services/twin/discipline"

// AddPolicer adds one; hops name it by the number returned, which is never zero.
func (n *Net) AddPolicer(c discipline.PolicerConfig) (int, error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	n.policers = append(n.policers, discipline.NewPolicer(c))
	return len(n.policers), nil
}

// Policer is the one of that number.
func (n *Net) Policer(number int) *discipline.Policer { return n.policers[number-1] }
