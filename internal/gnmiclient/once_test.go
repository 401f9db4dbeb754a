package gnmiclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
)

func update(path string, v *gnmi.TypedValue) *gnmi.SubscribeResponse {
	return &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: &gnmi.Notification{
		Prefix: gnmiclient.MustPath("/interfaces"), Update: []*gnmi.Update{{Path: gnmiclient.MustPath(path), Val: v}},
	}}}
}

func text(s string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: s}}
}

func TestARouterWhoseGetFailsIsReadLeafByLeaf(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	s := gnmitest.New(t, "mx", certs)
	s.OnSubscribe = func(list *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		if list.GetMode() != gnmi.SubscriptionList_ONCE || list.GetEncoding() != gnmi.Encoding_PROTO {
			return errors.New("not ONCE in PROTO")
		}
		for _, u := range []*gnmi.SubscribeResponse{
			update("/interface[name=xe-0/0/1]/state/oper-status", text("UP")),
			update("/interface[name=xe-0/0/0]/state/ifindex", &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: 512}}),
			update("/interface[name=xe-0/0/0]/subinterfaces/subinterface[index=0]/ipv4/addresses/address[ip=10.0.0.1]/state/ip", text("10.0.0.1")),
			{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}},
		} {
			if err := stream.Send(u); err != nil {
				return err
			}
		}
		<-stream.Context().Done() // leaves the stream open, as some do
		return nil
	}
	s.Start(t)
	c, err := gnmiclient.Dial(t.Context(), s.Device, certs.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.StateJSON(t.Context(), "/interfaces")
	want := `{"interface":[{"name":"xe-0/0/0","state":{"ifindex":512},"subinterfaces":{"subinterface":[{"index":"0",` +
		`"ipv4":{"addresses":{"address":[{"ip":"10.0.0.1","state":{"ip":"10.0.0.1"}}]}}}]}},{"name":"xe-0/0/1","state":{"oper-status":"UP"}}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v)\nwant %s", got, err, want)
	}
}

func TestARouterThatAnswersNeitherWaySaysBoth(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	s := gnmitest.New(t, "mx", certs)
	s.Start(t)
	c, err := gnmiclient.Dial(t.Context(), s.Device, certs.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.StateJSON(t.Context(), "/interfaces")
	if err == nil || !strings.Contains(err.Error(), "Get") || !strings.Contains(err.Error(), "Subscribe") {
		t.Errorf("error %v, want one that names Get and Subscribe", err)
	}
}
