package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// vcenter is one configured vCenter: the session with it, and what it has.
type vcenter struct {
	*nodes.VCenter

	session *session.Session
	// inFile are the credentials in the cloud-config, nil if they are elsewhere.
	inFile *session.InFile
}

// logIn logs in, unless there is a session.
func (vc *vcenter) logIn(ctx context.Context) error {
	return vc.session.SOAP(ctx, func(context.Context, *vim25.Client) error { return nil })
}

// runner is what works in the background until its context ends.
type runner interface {
	Run(ctx context.Context)
}

var (
	// sessionMetrics counts for all sessions of the process.
	sessionMetrics = metrics.OfProcess(func() *session.Metrics { return session.NewMetrics(metrics.New(ProviderName)) })
	// inventoryMetrics counts for all inventories of the process.
	inventoryMetrics = metrics.OfProcess(inventory.NewMetrics)
)

// newVCenters makes the configured vCenters, and what watches their
// credentials. Nothing is connected to yet.
func newVCenters(cfg *Config, t tuning, builder cloudprovider.ControllerClientBuilder) ([]*vcenter, []runner, error) {
	credentials := &credentialSources{builder: builder, shared: map[secretSource]session.Source{}}
	t.session.Metrics = cmp.Or(t.session.Metrics, sessionMetrics())
	t.recorder = cmp.Or(t.recorder, metrics.New(ProviderName))
	if t.session.LoginGuard == nil {
		t.session.LoginGuard = login.NewGuard(login.DefaultLimits(), clock.RealClock{})
	}
	var vcenters []*vcenter
	for _, name := range slices.Sorted(maps.Keys(cfg.VirtualCenter)) {
		entry := cfg.VirtualCenter[name]
		kept := cfg.secretSource(entry)
		var inFile *session.InFile
		if entry.User != "" || kept.none() {
			inFile = session.NewInFile(entry.credentials())
		}
		sources, err := credentials.of(kept, inFile)
		if err != nil {
			return nil, nil, err
		}
		s, err := session.New(endpoint(name, entry), sources, t.session)
		if err != nil {
			return nil, nil, err
		}
		watch := t.inventory
		watch.Name, watch.Datacenters = name, entry.Datacenters
		watch.ZoneCategory, watch.RegionCategory = cfg.Labels.Zone, cfg.Labels.Region
		snapshot := t.recorder.Snapshot(name)
		watch.Corrected = inventoryMetrics().Corrected(name)
		watch.Observe = func(status inventory.Status) {
			if status.Connected {
				snapshot.Refreshed(status.LastResponse)
			}
		}
		vcenters = append(vcenters, &vcenter{session: s, inFile: inFile, VCenter: &nodes.VCenter{
			Name:      name,
			Retired:   entry.Retired,
			Snapshot:  snapshot,
			Rules:     nodes.AddressRules{Networks: cfg.Nodes, Families: entry.IPFamily},
			Inventory: inventory.New(s, watch),
		}})
	}

	return vcenters, credentials.runners, nil
}

func endpoint(name string, entry *VirtualCenter) session.Endpoint {
	return session.Endpoint{
		Name:       name,
		Server:     entry.Server,
		Port:       int(entry.Port),
		Insecure:   entry.InsecureFlag,
		CAFile:     entry.CAFile,
		Thumbprint: string(entry.Thumbprint),
		RoundTrips: int(entry.SoapRoundtripCount),
	}
}

// credentialSources makes each Secret and each directory once, however many
// vCenters have their credentials there.
type credentialSources struct {
	builder cloudprovider.ControllerClientBuilder
	client  kubernetes.Interface
	shared  map[secretSource]session.Source
	runners []runner
}

// credentials returns what the cloud-config itself has.
func (vc *VirtualCenter) credentials() session.Credentials {
	return session.Credentials{User: string(vc.User), Password: vc.Password}
}

// of lists the sources for a vCenter, first that has anything: the Secret or
// directory, then what is in the cloud-config itself.
func (c *credentialSources) of(kept secretSource, inFile *session.InFile) ([]session.Source, error) {
	var sources []session.Source
	if !kept.none() {
		source, err := c.get(kept)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	if inFile != nil {
		sources = append(sources, inFile)
	}

	return sources, nil
}

func (c *credentialSources) get(kept secretSource) (session.Source, error) {
	if source, ok := c.shared[kept]; ok {
		return source, nil
	}
	if kept.directory != "" {
		directory := credential.NewDirectory(kept.directory, session.Parse)
		c.runners = append(c.runners, directory)
		c.shared[kept] = directory

		return directory, nil
	}
	if c.builder == nil {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("read Secret %s/%s: no cluster is given", kept.secretNamespace, kept.secretName))
	}
	if c.client == nil {
		client, err := c.builder.Client(clientName)
		if err != nil {
			return nil, fmt.Errorf("make a client for Secret %s/%s: %w", kept.secretNamespace, kept.secretName, err)
		}
		c.client = client
	}
	secret := credential.NewSecret(c.client.CoreV1().RESTClient(), kept.secretNamespace, kept.secretName, session.Parse)
	c.runners = append(c.runners, secret)
	c.shared[kept] = secret

	return secret, nil
}
