package rights

import (
	"reflect"
	"testing"
)

func TestSender(t *testing.T) {
	ann, calls := Caller{Name: "ann", Role: Operator, Credential: "k1"}, []string{"/p.S/M"}
	alpha := Caller{Name: "alpha", Role: Service, Only: calls}
	for name, tt := range map[string]struct {
		arrival Arrival
		want    Caller
		refused bool
	}{
		"the dashboard forwards for a person":         {Arrival{Front, calls, &ann, true}, ann, false},
		"also for one without a login":                {Arrival{Front, calls, &Anonymous, true}, Anonymous, false},
		"with logins off, too":                        {Arrival{Front, calls, &ann, false}, ann, false},
		"another service forwards for nobody":         {Arrival{"alpha", calls, &ann, true}, Caller{}, true},
		"nor with logins off":                         {Arrival{"alpha", calls, &ann, false}, Caller{}, true},
		"the dashboard for everybody":                 {Arrival{Front, calls, nil, false}, Caller{Role: Service}, false},
		"the dashboard for itself":                    {Arrival{Front, calls, nil, true}, Caller{Name: Front, Role: Service, Only: calls}, false},
		"another service for itself":                  {Arrival{"alpha", calls, nil, true}, alpha, false},
		"logins off do not give it more":              {Arrival{"alpha", calls, nil, false}, alpha, false},
		"a service that makes no calls may make none": {Arrival{"paths", nil, nil, true}, Caller{Name: "paths", Role: Service, Only: []string{}}, false},
		"no name": {Arrival{"", calls, nil, false}, Caller{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Sender(tt.arrival)
			if !reflect.DeepEqual(got, tt.want) || (err != nil) != tt.refused {
				t.Errorf("got %+v, %v; want %+v, refused %v", got, err, tt.want, tt.refused)
			}
		})
	}
}
