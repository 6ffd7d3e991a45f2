package vsphere

import (
	"fmt"
	"net/http"
	"sync"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

var (
	// nsxtMetrics counts for all clients of the process.
	nsxtMetrics = metrics.OfProcess(func() *nsx.Metrics { return nsx.NewMetrics(metrics.New(ProviderName)) })
	// nsxtLogins limits the logins of all clients of the process: a manager locks accounts
	// by other rules than vCenter.
	nsxtLogins = sync.OnceValue(func() *login.Guard { return login.NewGuard(nsx.LoginLimits(), clock.RealClock{}) })
)

// newNSXT returns the client of the NSX-T manager, which connects to nothing until it is
// used: Nodes do not need it.
func newNSXT(n *NSXT, logins *login.Guard, options nsx.Options) (*nsx.Client, *nsx.Password, error) {
	if options.Metrics == nil {
		options.Metrics = nsxtMetrics()
	}
	var password *nsx.Password
	config := nsx.Config{Host: n.Host, TLS: n.tls()}
	switch n.method() {
	case "client-auth-cert-file":
		config.Auth = nsx.Certificate{}
	case "vmc-access-token":
		via := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
		via.DisableKeepAlives = true                           // there is one request in many minutes
		config.Auth = nsx.NewToken(n.VMCAuthHost, n.VMCAccessToken, via)
	default:
		password = &nsx.Password{Host: n.Host, Remote: n.RemoteAuth, Guard: logins}
		if !n.hasSecret() {
			password.Use(credential.NewInFile(n.credentials(), nil))
		}
		config.Auth = password
	}
	client, err := nsx.New(config, options)

	return client, password, err
}

// credentials returns what the cloud-config itself has.
func (n *NSXT) credentials() nsx.Credentials {
	return nsx.Credentials{User: n.User, Password: n.Password}
}

// nsxtSecret returns the Secret with the credentials of the manager. Until it can be read,
// those in the cloud-config are used.
func nsxtSecret(n *NSXT, builder cloudprovider.ControllerClientBuilder) (*credential.Secret[nsx.Credentials], error) {
	client, err := builder.Client(clientName)
	if err != nil {
		return nil, fmt.Errorf("make a client for Secret %s/%s: %w", n.SecretNamespace, n.SecretName, err)
	}
	secret := credential.NewSecret(client.CoreV1().RESTClient(), n.SecretNamespace, n.SecretName, nsx.ParseCredentials)
	if n.User != "" && n.Password != "" {
		secret.Preset(map[string]nsx.Credentials{"": n.credentials()})
	}

	return secret, nil
}
