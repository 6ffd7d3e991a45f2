package main

import (
	"crypto/x509"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// oneClient makes one client, or none.
type oneClient struct {
	cloudprovider.ControllerClientBuilder

	client kubernetes.Interface
	err    error
}

func (c oneClient) Client(string) (kubernetes.Interface, error) { return c.client, c.err }

// FW-CONFIG-17: what the API server refuses is not about the cloud-config.
func TestProveWithoutAPIServer(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"NoMeaning": errors.New("no response"),
		"Untrusted": x509.UnknownAuthorityError{},
		"Denied":    apierr.Mark(apierr.ErrDenied, errors.New("forbidden")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, wrong := choose(testProviders(), configFile(t, goodText), config.Flag{Value: plainName, Set: true}, config.WithFiles)
			if wrong != nil {
				t.Fatal(wrong)
			}
			client := fake.NewClientset()
			client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
			for _, clients := range []oneClient{{err: err}, {client: client}} {
				if _, got := prove(t.Context(), chosen, clients); !provider.Unanswered(got) {
					t.Errorf("it is taken for a refusal: %v", got)
				}
			}
		})
	}
}
