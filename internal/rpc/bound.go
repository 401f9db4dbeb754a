package rpc

import "connectrpc.com/connect"

// MaxRequest, in octets, is room for the largest request of most services.
const MaxRequest = 8 << 20

// Bounded refuses larger messages with RESOURCE_EXHAUSTED, also those that only grow as they are decompressed: without
// it one request of a megabyte takes a gigabyte of a process that has a database in it, too.
func Bounded(octets int) connect.HandlerOption { return connect.WithReadMaxBytes(octets) }
