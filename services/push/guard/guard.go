// Package guard decides what keeps a change set from being sent. Each decision is a function of values, and its test
// is a table that can be read as documentation.
//
// In: freezes and the routers of a change set. Out: whether it may go on, and in one sentence why not. Next:
// services/push, which keeps the values in etcd and obeys.
//
// Mutation testing: 68 of 68 killed (docs/reference/mutants.md).
package guard
