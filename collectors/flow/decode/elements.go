package decode

// Information elements that are read; IANA's registry of IPFIX entities, whose
// first 127 are NetFlow v9's field types.
const (
	octetDeltaCount          = 1
	packetDeltaCount         = 2
	protocolIdentifier       = 4
	ipClassOfService         = 5
	tcpControlBits           = 6
	sourceTransportPort      = 7
	sourceIPv4Address        = 8
	ingressInterface         = 10
	destinationTransportPort = 11
	destinationIPv4Address   = 12
	egressInterface          = 14
	flowEndSysUpTime         = 21
	flowStartSysUpTime       = 22
	postOctetDeltaCount      = 23
	postPacketDeltaCount     = 24
	sourceIPv6Address        = 27
	destinationIPv6Address   = 28
	flowLabelIPv6            = 31
	icmpTypeCodeIPv4         = 32
	samplingInterval         = 34
	samplerID                = 48
	samplerRandomInterval    = 50
	octetTotalCount          = 85
	packetTotalCount         = 86
	icmpTypeCodeIPv6         = 139
	flowStartSeconds         = 150
	flowEndSeconds           = 151
	flowStartMilliseconds    = 152
	flowEndMilliseconds      = 153
	flowStartMicroseconds    = 154
	flowEndMicroseconds      = 155
	flowStartNanoseconds     = 156
	flowEndNanoseconds       = 157
	flowStartDelta           = 158 // microseconds before the message's export time
	flowEndDelta             = 159
	systemInitMilliseconds   = 160
	natEvent                 = 230
	initiatorOctets          = 231
	firewallEvent            = 233
	initiatorPackets         = 298
	selectorID               = 302
	samplingPacketInterval   = 305
	samplingPacketSpace      = 306
	samplingSize             = 309
	samplingPopulation       = 310
	samplingProbability      = 311
)

// reversePEN marks the elements of a biflow's reverse direction (RFC 5103 section 6.1); their numbers are IANA's.
const reversePEN = 29305

// v9 scope types (RFC 3954 section 6.1) that differ from information elements.
const scopeInterface = 2

// target is where the value of a field goes.
type target uint8

const (
	ignored target = iota
	// Numbers of the flow itself.
	toBytes
	toPackets
	toProtocol
	toTOS
	toTCPFlags
	toSrcPort
	toDstPort
	toInIf
	toOutIf
	toFirst
	toLast
	toStartSeconds
	toEndSeconds
	toStartMilliseconds
	toEndMilliseconds
	toStartNTP
	toEndNTP
	toStartDelta
	toEndDelta
	toFlowLabel
	// Numbers that flow() weighs against each other, or that describe the exporter.
	toOutBytes
	toOutPackets
	toTotalBytes
	toTotalPackets
	toInitiatorBytes
	toInitiatorPackets
	toICMP
	toEvent
	toSystemInit
	toSelector
	toInterval
	toPacketInterval
	toPacketSpace
	toSize
	toPopulation
	toProbability
	// Addresses of the flow.
	toSrc
	toDst
)

const (
	lastOfFlow = toFlowLabel
	// reverse is set for the reverse direction of a biflow.
	reverse target = 0x80
)

var targets = map[uint16]target{
	octetDeltaCount: toBytes, packetDeltaCount: toPackets, protocolIdentifier: toProtocol, ipClassOfService: toTOS,
	tcpControlBits: toTCPFlags, sourceTransportPort: toSrcPort, destinationTransportPort: toDstPort,
	sourceIPv4Address: toSrc, sourceIPv6Address: toSrc, destinationIPv4Address: toDst, destinationIPv6Address: toDst,
	ingressInterface: toInIf, egressInterface: toOutIf, flowStartSysUpTime: toFirst, flowEndSysUpTime: toLast,
	flowStartSeconds: toStartSeconds, flowEndSeconds: toEndSeconds,
	flowStartMilliseconds: toStartMilliseconds, flowEndMilliseconds: toEndMilliseconds,
	flowStartMicroseconds: toStartNTP, flowStartNanoseconds: toStartNTP,
	flowStartDelta: toStartDelta, flowEndDelta: toEndDelta,
	flowEndMicroseconds: toEndNTP, flowEndNanoseconds: toEndNTP, flowLabelIPv6: toFlowLabel,
	postOctetDeltaCount: toOutBytes, postPacketDeltaCount: toOutPackets,
	octetTotalCount: toTotalBytes, packetTotalCount: toTotalPackets,
	initiatorOctets: toInitiatorBytes, initiatorPackets: toInitiatorPackets,
	icmpTypeCodeIPv4: toICMP, icmpTypeCodeIPv6: toICMP, natEvent: toEvent, firewallEvent: toEvent,
	systemInitMilliseconds: toSystemInit, samplerID: toSelector, selectorID: toSelector,
	samplingInterval: toInterval, samplerRandomInterval: toInterval,
	samplingPacketInterval: toPacketInterval, samplingPacketSpace: toPacketSpace,
	samplingSize: toSize, samplingPopulation: toPopulation, samplingProbability: toProbability,
}

// targetOf is where the value of an element goes; pen is 0 for IANA's own.
func targetOf(element uint16, pen uint32) target {
	if pen != 0 && pen != reversePEN {
		return ignored
	}
	to := targets[element]
	if to != ignored && pen == reversePEN {
		return to | reverse
	}
	return to
}

// scopeTarget is where the value of a v9 scope goes: types 1 to 5 are no elements (RFC 3954 section 6.1).
func scopeTarget(kind uint16) target {
	switch {
	case kind == scopeInterface:
		return toInIf
	case kind <= 5:
		return ignored
	}
	return targetOf(kind, 0)
}
