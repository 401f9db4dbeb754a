// Package traces looks traces up where an operator does: in a collector and a store of other people.
//
// In: the millrace binary, Kafka's jars, libchdb.so, and Jaeger. Out: a verdict, and the traces as text: `make jaeger`.
// Next: docs/reference/tracing.md.
package traces
