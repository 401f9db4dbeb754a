package configentry

import policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"

var encodings = map[Encoding]policyv1.Encoding{
	JSONIETF:  policyv1.Encoding_ENCODING_JSON_IETF,
	JunosText: policyv1.Encoding_ENCODING_JUNOS_TEXT,
}

// ToProto is the encoding's value in the API.
func (e Encoding) ToProto() policyv1.Encoding { return encodings[e] }

// EncodingFromProto is empty for an encoding that this version does not support.
func EncodingFromProto(m policyv1.Encoding) Encoding {
	for e, other := range encodings {
		if other == m {
			return e
		}
	}
	return ""
}
