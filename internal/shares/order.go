package shares

import "slices"

// Priorities number the queues' order of service from 0, without gaps. Each strict queue has a number of its own.
func Priorities(queues []Queue) []int {
	order := make([]int, len(queues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return Compare(queues[i], queues[j]) })
	out := make([]int, len(queues))
	next := -1
	for n, i := range order {
		q := queues[i]
		if n == 0 || q.Strict || Compare(queues[order[n-1]], q) != 0 {
			next++
		}
		out[i] = next
	}
	return out
}
