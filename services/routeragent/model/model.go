// Package model is the data model that the router agent serves, as one flat
// table: the part of OpenConfig it implements, and the augments in yang/.
//
// In: rows, which tools/modeltable writes. Out: schema nodes with their types;
// a Type judges a value. Next: services/routeragent/tree.
//
// The linker lays the table out, so that no code builds it when the program
// starts. The structs that ygot generates of the same YANG modules
// (services/routeragent/octest) are what the tests compare it with.
package model

//go:generate go run github.com/millrace/millrace/tools/modeltable -trim ../../../yang/trim.txt -out .

// Kind of a schema node (RFC 7950 section 3).
type Kind uint8

// Kinds of schema nodes.
const (
	Container Kind = iota
	List
	Leaf
	LeafList
)

// Node is one node of the schema.
type Node struct {
	// Path from the root, without modules and keys: /qos/queues/queue/config/name.
	Path string
	Kind Kind
	// Module whose namespace the node is in; RFC 7951 qualifies names with it.
	Module string
	// State is true for `config false` (RFC 7950 section 7.21.1) and everything under it.
	State bool
	// Keys of a list, in the order of the model, with spaces between (RFC 7950 section 7.8.2).
	Keys string
	// Type of a leaf or leaf-list. A leafref has the type of the leaf it refers to.
	Type *Type
	// Refers is the path of the leaf that a leafref refers to.
	Refers string
	// Default of a leaf, as RFC 7951 writes it.
	Default string
}

// Module is a YANG module that the schema was made of.
type Module struct{ Name, Organization, Version string }
