// Package whatif holds the test of the documented what-if: an operator changes
// a weight in a copy of a policy, the twin predicts, the lab's routers get it,
// and both are compared.
//
// In: the command lines of docs/reference/twin.md. Out: nothing but the test's
// verdict. Next: an operator, who types them.
package whatif
