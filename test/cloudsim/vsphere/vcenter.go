package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	defaultUser     = "administrator@vsphere.local"
	defaultPassword = "secret"
	sessionTimeout  = 30 * time.Minute
)

// VCenter is one simulated vCenter. Its interceptor counts and delays calls and
// injects faults.
type VCenter struct {
	simserver.Interceptor

	name      string
	directory *directory
	server    *simserver.Server
	shared    *simserver.Server // the shared session endpoint, nil without one
	caFile    string
	mux       *http.ServeMux
	feed      *feed

	// mu makes every call and every change atomic. Long polls release it while
	// they wait. All that follows is guarded by it.
	mu       sync.Mutex
	service  *simulator.Service
	registry *simulator.Registry
	context  *simulator.Context
	tags     *tagStore
	sessions *sessions
	policy   policy
	unread   map[string]bool // tokens of reads that have another page

	restEndpoint restEndpoint
	tagRate      tagRate

	dcs      []*datacenter
	vms      map[types.ManagedObjectReference]*machine
	numbered int             // VMs made so far
	calling  context.Context // of the call that holds mu
}

func startVCenter(spec VCenterSpec, accounts *directory) (*VCenter, error) {
	v := &VCenter{
		name:      spec.Name,
		directory: accounts,
		vms:       make(map[types.ManagedObjectReference]*machine),
	}
	v.SetLatency(spec.Latency)
	v.newService()
	if err := v.build(spec); err != nil {
		return nil, err
	}
	server, err := simserver.Start(simserver.Config{Address: spec.Listen, Plain: spec.Plain, InMemory: spec.InMemory}, v)
	if err != nil {
		return nil, err
	}
	v.server = server
	if err := errors.Join(v.writeCAFile(), v.startShared(spec.SessionManagerToken)); err != nil {
		return nil, errors.Join(err, v.close())
	}
	v.publish()

	return v, nil
}

// newService makes an empty vcsim. It shares nothing that changes with others of
// its kind: of vcsim's managers it has those that our clients use, and what vcsim
// would take from package variables it copies.
func (v *VCenter) newService() {
	content := types.ServiceContent{
		RootFolder:          vpx.ServiceContent.RootFolder,
		PropertyCollector:   vpx.ServiceContent.PropertyCollector,
		ViewManager:         vpx.ServiceContent.ViewManager,
		About:               vpx.ServiceContent.About,
		Setting:             vpx.ServiceContent.Setting,
		SessionManager:      vpx.ServiceContent.SessionManager,
		EventManager:        vpx.ServiceContent.EventManager,
		TaskManager:         vpx.ServiceContent.TaskManager,
		CustomFieldsManager: vpx.ServiceContent.CustomFieldsManager,
		SearchIndex:         vpx.ServiceContent.SearchIndex,
	}
	content.About.InstanceUuid = makeUUID("vcenter", v.name)
	root := vpx.RootFolder
	root.ChildEntity = nil
	ctx, instance := simulator.NewServiceInstance(simulator.NewContext(), content, root)
	v.context, v.registry = ctx, ctx.Map
	v.service = simulator.New(ctx, instance)
	v.service.Listen = &url.URL{Scheme: "https", Path: vim25.Path, User: url.UserPassword(v.directory.user, v.directory.password)}
	options := v.registry.OptionManager()
	options.Setting = nil
	for _, setting := range vpx.Setting {
		copied := *setting.GetOptionValue()
		options.Setting = append(options.Setting, &copied)
	}
	v.feed = newFeed()
	v.registry.AddHandler(v.feed)
	v.registry.Handler = v.intercept
	v.sessions = newSessions(v)
	v.routes()
}

// publish sets the address in vcsim, which only the running server has.
func (v *VCenter) publish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.service.Listen.Scheme = v.server.Scheme()
	v.service.Listen.Host = v.server.Address()
	v.registry.SessionManager().ServiceHostName = v.server.Address()
	v.publishSSO()
}

func (v *VCenter) close() error {
	var problems []error
	if v.server != nil {
		problems = append(problems, v.server.Close())
	}
	if v.shared != nil {
		problems = append(problems, v.shared.Close())
	}
	if v.caFile != "" {
		problems = append(problems, os.Remove(v.caFile))
	}

	return errors.Join(problems...)
}

func (v *VCenter) writeCAFile() error {
	pem := v.server.CertificatePEM()
	if pem == nil {
		return nil
	}
	file, err := os.CreateTemp("", "vcenter-*.pem")
	if err != nil {
		return fmt.Errorf("create CA file: %w", err)
	}
	v.caFile = file.Name()
	_, err = file.Write(pem)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write CA file %s: %w", v.caFile, err)
	}

	return nil
}

// Name returns the name of this vCenter in the spec.
func (v *VCenter) Name() string { return v.name }

// Address returns host and port, with brackets around IPv6.
func (v *VCenter) Address() string { return v.server.Address() }

// Dial connects to an in-memory vCenter; see [VCenterSpec.InMemory].
func (v *VCenter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return v.server.Dial(ctx, network, address)
}

// URL returns the address of the SOAP API, without credentials.
func (v *VCenter) URL() *url.URL {
	return &url.URL{Scheme: v.server.Scheme(), Host: v.server.Address(), Path: vim25.Path}
}

// CAFile returns the name of a PEM file that a client may trust, or "" without
// TLS. Close removes the file.
func (v *VCenter) CAFile() string { return v.caFile }

// CertificatePEM returns the contents of CAFile.
func (v *VCenter) CertificatePEM() []byte { return v.server.CertificatePEM() }

// ThumbprintSHA1 returns the pin of the certificate as clients write it.
func (v *VCenter) ThumbprintSHA1() string {
	sum, _ := v.server.Thumbprints()

	return sum
}

// ThumbprintSHA256 returns the longer pin of the certificate.
func (v *VCenter) ThumbprintSHA256() string {
	_, sum := v.server.Thumbprints()

	return sum
}

// User returns the name of the only account.
func (v *VCenter) User() string { return v.directory.user }

// Down refuses connections and cuts the existing ones until Up.
func (v *VCenter) Down() { v.server.Down() }

// Hang stalls new and existing connections until Up; see
// [simserver.Server.Hang].
func (v *VCenter) Hang() { v.server.Hang() }

// Up ends Down and Hang.
func (v *VCenter) Up() error { return v.server.Up() }
