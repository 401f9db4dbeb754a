package rest

import "github.com/millrace/millrace/services/circuits/admit"

// required are the fields without which a request is refused, by message.
var required = map[string][]string{
	"QuoteRequest": {"terms", "by"}, "RequestRequest": {"terms", "by"}, "CommitRequest": {"by"}, "ExtendRequest": {"by", "until"}, "ReleaseRequest": {"by"},
	"ModifyRequest": {"by"}, "RequestAllRequest": {"terms", "by"}, "ReoptimiseRequest": {"by"},
	"AddMaintenanceRequest": {"id", "end", "by", "reason"}, "RemoveMaintenanceRequest": {"by"},
	"Terms": {"project", "from", "to"}, "PrefixPair": {"source", "destination"}, "Port": {"name"},
	"Repeat": {"every", "times"},
}

// word is what may be part of a key of etcd.
const word = "^[A-Za-z0-9._-]{1,64}$"

// bounds of fields that people fill in, by message and field: services/circuits refuses what is beyond them. What only
// the network or the book can say, such as which routers there are, is not here.
var bounds = map[string]object{
	"Terms.project":                 {"pattern": word},
	"Terms.from":                    text(1, 100),
	"Terms.to":                      text(1, 100),
	"Terms.without_links":           list(100, text(1, 100)),
	"Terms.without_routers":         list(100, text(1, 100)),
	"Terms.apart_from":              list(100, text(1, 100)),
	"Terms.via":                     list(8, text(1, 100)),
	"Terms.include_any":             groups,
	"Terms.include_all":             groups,
	"Terms.exclude":                 groups,
	"Terms.max_hops":                {"minimum": 0, "maximum": 255},
	"Terms.max_sids":                {"minimum": 0, "maximum": 255},
	"PathTerms.max_sids":            {"minimum": 0, "maximum": 255},
	"Terms.exclude_risk_groups":     {"maxItems": 100},
	"PathTerms.exclude_risk_groups": {"maxItems": 100},
	"PathTerms.without_links":       list(100, text(1, 100)),
	"PathTerms.without_routers":     list(100, text(1, 100)),
	"PathTerms.apart_from":          list(100, text(1, 100)),
	"PathTerms.via":                 list(8, text(1, 100)),
	"PathTerms.include_any":         groups,
	"PathTerms.include_all":         groups,
	"PathTerms.exclude":             groups,
	"PathTerms.max_hops":            {"minimum": 0, "maximum": 255},
	"Terms.pairs":                   {"maxItems": 100},
	"Terms.description":             text(0, 500),
	"Port.name":                     text(1, 100),
	"Port.vlans":                    {"maxLength": 100, "pattern": "^(any|[0-9, -]*)$"},
	"Terms.priority":                {"minimum": 0, "maximum": 7},
	"Terms.setup_priority":          {"minimum": 0, "maximum": 7},
	"QuoteRequest.by":               text(1, 100),
	"RequestRequest.by":             text(1, 100),
	"RequestRequest.request_id":     {"pattern": word},
	"CommitRequest.by":              text(1, 100),
	"CommitRequest.note":            text(0, 500),
	"ExtendRequest.by":              text(1, 100),
	"ReleaseRequest.by":             text(1, 100),
	"ReleaseRequest.note":           text(0, 500),
	"ModifyRequest.by":              text(1, 100),
	"ModifyRequest.note":            text(0, 500),
	"ReoptimiseRequest.by":          text(1, 100),
	"RequestAllRequest.by":          text(1, 100),
	"RequestAllRequest.request_id":  {"pattern": word},
	"RequestAllRequest.terms":       {"minItems": 1, "maxItems": 20},
	"RequestAllRequest.max_paths":   {"minimum": 0, "maximum": admit.MaxSpread},
	"Repeat.times":                  {"minimum": 2, "maximum": 60},
	"Repeat.time_zone":              text(0, 100),
	"ListRequest.page_size":         {"minimum": 0, "maximum": 1000},
	"ListRequest.page_token":        text(0, 100),
	"AddMaintenanceRequest.id":      {"pattern": word},
	"AddMaintenanceRequest.links":   list(100, text(1, 100)),
	"AddMaintenanceRequest.routers": list(100, text(1, 100)),
	"AddMaintenanceRequest.by":      text(1, 100),
	"AddMaintenanceRequest.reason":  text(1, 500),
	"RemoveMaintenanceRequest.by":   text(1, 100),
	"RemoveMaintenanceRequest.note": text(0, 500),
}

// whole numbers of 64 bits are not below 0 where people give them.
var amounts = map[string]object{
	"Terms.rate_bits_per_second":                 amount(1 << 60),
	"ModifyRequest.rate_bits_per_second":         amount(1 << 60),
	"Terms.volume_bytes":                         amount(admit.MaxBytes),
	"Terms.max_delay_microseconds":               amount(3_600_000_000),
	"PathTerms.max_delay_microseconds":           amount(3_600_000_000),
	"AddMaintenanceRequest.left_bits_per_second": amount(1 << 60),
}

// groups are administrative groups of links.
var groups = object{"maxItems": 64, "items": object{"type": "integer", "format": "int32", "minimum": 0, "maximum": 63}}

func text(least, most int) object { return object{"minLength": least, "maxLength": most} }

func list(most int, of object) object {
	items := object{"type": "string"}
	for k, v := range of {
		items[k] = v
	}
	return object{"maxItems": most, "items": items}
}

func amount(most int64) object {
	return object{"minimum": 0, "maximum": most, "pattern": "^[0-9]{1,19}$"}
}
