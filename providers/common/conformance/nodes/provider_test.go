package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// client calls the cloud in one session.
type client struct {
	cloud *cloud
	// What can be wrong with it.
	// page replaces the error of a proxy's page, for the status that it has.
	page    func(status int, err error) error
	broken  bool // set by the first failure of a fragile client
	fragile bool // never works again after a failure

	mu      sync.Mutex
	session int
	closed  bool
}

// current is the session in use, 0 if there is none.
func (c *client) current() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, errors.New("the client is closed")
	}
	if c.broken {
		return 0, errors.New("the client never works again")
	}

	return c.session, nil
}

// lost drops a session that the cloud does not know.
func (c *client) lost(session int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = c.fragile
	if c.session == session && errors.Is(err, apierr.ErrDenied) {
		c.session = 0
	}
}

// ready returns a session, a new one if needed.
func (c *client) ready(ctx context.Context) (int, error) {
	session, err := c.current()
	if err != nil || session != 0 {
		return session, err
	}
	session, err = c.cloud.login(ctx)
	if err != nil {
		c.lost(0, err)

		return 0, err
	}
	c.mu.Lock()
	kept := c.session == 0 && !c.closed
	if kept {
		c.session = session
	}
	used := c.session
	c.mu.Unlock()
	if !kept {
		return used, c.cloud.logout(ctx, session)
	}

	return session, nil
}

// read lists machines.
func (c *client) read(ctx context.Context, selects func(*sim.Machine) bool) ([]*sim.Machine, error) {
	session, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := c.cloud.list(ctx, session, selects)
	if status, ok := errors.AsType[sim.PageError](err); ok && c.page != nil {
		err = c.page(int(status), err)
	}
	if err != nil {
		c.lost(session, err)
	}

	return machines, err
}

// source looks nodes up in a list that is shared for a moment.
type source struct {
	client *client
	list   *cache.Value[[]*sim.Machine]
	// What can be wrong with it.
	match    func(*sim.Machine, instance.Ref) bool
	place    func(providerID string) error
	pick     func([]*sim.Machine) instance.Result
	describe func(*sim.Machine) *cloudprovider.InstanceMetadata
}

func newSource(client *client, timeout, ttl time.Duration) *source {
	all := func(*sim.Machine) bool { return true }

	return &source{
		client: client,
		list: cache.NewValue(
			func(ctx context.Context) ([]*sim.Machine, error) { return client.read(ctx, all) },
			cache.Options{TTL: ttl, Timeout: timeout},
		),
		match:    matches,
		place:    elsewhere,
		pick:     only,
		describe: metadataOf,
	}
}

// idPattern is a providerID without the scheme: the region, which may be left out,
// and the number of the machine.
var idPattern = regexp.MustCompile(`^(?:([a-z]+)/)?([0-9]{8})$`)

// region is the only one that the provider queries.
const region = "r"

func (s *source) Accepts(id string) error {
	if !idPattern.MatchString(strings.TrimPrefix(id, sim.Scheme)) {
		return fmt.Errorf("%q is not sim://, perhaps a region, and eight digits", id)
	}

	return nil
}

// elsewhere returns an error for a providerID of another region.
func elsewhere(id string) error {
	parts := idPattern.FindStringSubmatch(strings.TrimPrefix(id, sim.Scheme))
	if len(parts) == 0 || parts[1] == "" || parts[1] == region {
		return nil
	}

	return instance.WithReason(instance.ReasonOtherRegion, fmt.Errorf("%q is in region %s, not in %s", id, parts[1], region))
}

// matches reports whether the machine is the one of ref.
func matches(m *sim.Machine, ref instance.Ref) bool {
	switch {
	case ref.ProviderID != "":
		return number(ref.ProviderID) == number(m.Ref.ProviderID)
	case ref.SystemUUID != "" && sameUUID(ref.SystemUUID, m.Ref.SystemUUID):
		return true
	}

	return ref.SystemUUID == "" && ref.NodeName == m.Ref.NodeName
}

// number returns the number of the machine in a providerID.
func number(id string) string { return id[max(0, len(id)-8):] }

// sameUUID reports whether a UUID is that of a machine, in either case and byte order.
func sameUUID(reported, uuid string) bool {
	swapped, err := mixedEndian(uuid)

	return strings.EqualFold(reported, uuid) || err == nil && strings.EqualFold(reported, swapped)
}

// only returns the one machine that there is.
func only(found []*sim.Machine) instance.Result {
	switch len(found) {
	case 0:
		return instance.Absent()
	case 1:
		return instance.Found(found[0])
	}

	return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, errors.New("several machines match")))
}

func (s *source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	machines, err := s.list.Get(ctx)
	if err := cmp.Or(s.place(ref.ProviderID), err); err != nil {
		return instance.Failed(err)
	}
	var found []*sim.Machine
	for _, m := range machines {
		if s.match(m, ref) {
			found = append(found, m)
		}
	}

	return s.pick(found)
}

func (s *source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	if err := s.place(ref.ProviderID); err != nil {
		return instance.Failed(err)
	}
	found, err := s.client.read(ctx, func(m *sim.Machine) bool { return s.match(m, ref) })
	if err != nil {
		return instance.Failed(err)
	}

	return s.pick(found)
}

func (s *source) Metadata(_ context.Context, _ *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	return s.describe(found.(*sim.Machine)), nil
}

// metadataOf describes a machine.
func metadataOf(m *sim.Machine) *cloudprovider.InstanceMetadata {
	addresses := []v1.NodeAddress{{Type: v1.NodeHostName, Address: m.Ref.NodeName}}
	for _, ip := range m.IPs {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}

	return &cloudprovider.InstanceMetadata{
		InstanceType: "small", Zone: "a", Region: "r",
		NodeAddresses:    addresses,
		AdditionalLabels: map[string]string{"example.com/rack": "1"},
	}
}

// provider is the cloud provider over the client.
type provider struct {
	sim.CloudProvider
	requeue func(func(nodeName string))
	client  *client
}

func (p *provider) SetNodeRequeue(requeue func(nodeName string)) { p.requeue(requeue) }

// Close logs out and rejects further logins.
func (p *provider) Close(ctx context.Context) error {
	p.client.mu.Lock()
	session := p.client.session
	p.client.closed, p.client.session = true, 0
	p.client.mu.Unlock()
	if session == 0 {
		return nil
	}

	return p.client.cloud.logout(ctx, session)
}
