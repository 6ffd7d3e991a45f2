package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

// Kind is a kind of objects: the name of the collection that they are in.
type Kind string

// The kinds of objects.
const (
	LBServices     Kind = "lb-services"
	Allocations    Kind = "ip-allocations"
	VirtualServers Kind = "lb-virtual-servers"
	Pools          Kind = "lb-pools"
	Monitors       Kind = "lb-monitor-profiles"
	Groups         Kind = "groups"
)

// The types of objects.
const (
	TypeTCPMonitor  = "LBTcpMonitorProfile"
	TypeHTTPMonitor = "LBHttpMonitorProfile"
	TypeTCPProfile  = "LBFastTcpProfile"
	TypeUDPProfile  = "LBFastUdpProfile"
)

// ResourceTypes are the types of all objects of a load balancer.
func ResourceTypes() []string {
	return []string{"LBService", "LBVirtualServer", "LBPool", TypeTCPMonitor, TypeHTTPMonitor, "IpAddressAllocation", "Group"}
}

// collections are where objects are, without those of IP pools.
var collections = map[Kind]string{
	LBServices:     "/infra/lb-services",
	VirtualServers: "/infra/lb-virtual-servers",
	Pools:          "/infra/lb-pools",
	Monitors:       "/infra/lb-monitor-profiles",
	Groups:         "/infra/domains/default/groups",
}

// The collections of what is only read.
const (
	IPPoolsPath  = "/infra/ip-pools"
	ProfilesPath = "/infra/lb-app-profiles"
)

// CollectionPath returns the path of all objects of a kind; allocations are in one of their
// pool.
func CollectionPath(kind Kind, ipPool string) string {
	if kind == Allocations {
		return IPPoolsPath + "/" + ipPool + "/" + string(Allocations)
	}

	return collections[kind]
}

// Object is an object as it was read. It is never changed.
type Object struct {
	Fields
	Kind Kind
	// MemberIPs are the addresses of the members of a pool, an invalid one for a member without.
	MemberIPs MemberIPs
	// Raw are all of its fields. A row of a list has none: an object is read before it is written.
	Raw nsx.Object
}

// Fields are the fields of objects that are read or written. Those of other kinds are empty.
// Reference: https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/.
type Fields struct {
	ID           string    `json:"id,omitempty"`
	Path         string    `json:"path,omitempty"`
	ResourceType string    `json:"resource_type,omitempty"`
	DisplayName  string    `json:"display_name,omitempty"`
	Description  string    `json:"description,omitempty"`
	Tags         []nsx.Tag `json:"tags,omitempty"`
	Revision     *int64    `json:"_revision,omitempty"`
	CreateTime   int64     `json:"_create_time,omitempty"` // milliseconds
	CreateUser   string    `json:"_create_user,omitempty"`
	Protection   string    `json:"_protection,omitempty"`
	Deleting     bool      `json:"marked_for_delete,omitempty"`

	// Of an LBService. Enabled is that of a virtual server, too.
	Size             string `json:"size,omitempty"`
	ConnectivityPath string `json:"connectivity_path,omitempty"`
	Enabled          bool   `json:"enabled,omitempty"`

	// Of an LBVirtualServer.
	IPAddress              string      `json:"ip_address,omitempty"`
	Ports                  []string    `json:"ports,omitempty"`
	DefaultPoolMemberPorts []string    `json:"default_pool_member_ports,omitempty"`
	PoolPath               string      `json:"pool_path,omitempty"`
	ApplicationProfilePath string      `json:"application_profile_path,omitempty"`
	LBServicePath          string      `json:"lb_service_path,omitempty"`
	PersistenceProfilePath string      `json:"lb_persistence_profile_path,omitempty"`
	AccessListControl      *AccessList `json:"access_list_control,omitempty"`

	// Of an LBPool. The members of an object that was read are its MemberIPs.
	Members            []json.RawMessage `json:"members,omitempty"`
	MemberGroup        json.RawMessage   `json:"member_group,omitempty"`
	ActiveMonitorPaths []string          `json:"active_monitor_paths,omitempty"`
	SNATTranslation    *SNATTranslation  `json:"snat_translation,omitempty"`

	// Of a monitor.
	MonitorPort int32  `json:"monitor_port,omitempty"`
	RequestURL  string `json:"request_url,omitempty"`

	// Of an IpAddressAllocation: the address that was requested.
	AllocationIP string `json:"allocation_ip,omitempty"`

	// Of a Group.
	Expression []Expression `json:"expression,omitempty"`
}

// AccessList restricts the clients of a virtual server.
type AccessList struct {
	Action    string `json:"action,omitempty"`
	Enabled   bool   `json:"enabled"`
	GroupPath string `json:"group_path,omitempty"`
}

// SNATTranslation is how a pool replaces the addresses of clients.
type SNATTranslation struct {
	Type string `json:"type"`
}

// The types of SNAT that new pools have.
const (
	SNATAutoMap  = "LBSnatAutoMap"
	SNATDisabled = "LBSnatDisabled"
)

// Expression has the addresses of a group.
type Expression struct {
	ResourceType string   `json:"resource_type"`
	IPAddresses  []string `json:"ip_addresses"`
}

// Member is a member of a pool as it is created.
type Member struct {
	AdminState  string `json:"admin_state"`
	DisplayName string `json:"display_name"`
	IPAddress   string `json:"ip_address"`
}

// Read returns an object that was read at a path, which is empty for a row of a list. If there is
// an error, it has the fields that can be read.
func Read(objectPath string, raw nsx.Object) (*Object, error) {
	var content decoded
	err := raw.Into(&content)
	if objectPath != "" {
		content.Path = objectPath
	} else {
		raw = nil
	}

	return content.object(raw, err)
}

// ReadRow is [Read] for a row of a search.
func ReadRow(row json.RawMessage) (*Object, error) {
	var content decoded
	err := json.Unmarshal(row, &content)
	if err != nil {
		err = apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("decode object: %w", err))
	}

	return content.object(nil, err)
}

// decoded is the content of an object. It replaces the members of the fields: thousands of them
// are not kept as text.
type decoded struct {
	Fields

	Members []memberIP `json:"members"`
}

func (d decoded) object(raw nsx.Object, err error) (*Object, error) {
	ips := lists.Map(d.Members, func(m memberIP) netip.Addr { return m.Addr })
	o := &Object{Fields: d.Fields, Kind: KindOf(d.Path), MemberIPs: NewMemberIPs(ips), Raw: raw}
	if err != nil {
		return o, fmt.Errorf("%s: %w", o.Path, err)
	}

	return o, nil
}

// KindOf returns the kind of the object at a path.
func KindOf(objectPath string) Kind { return Kind(path.Base(path.Dir(objectPath))) }

// IPPoolOf returns the ID of the IP pool of an allocation, given its path.
func IPPoolOf(allocationPath string) string { return path.Base(path.Dir(path.Dir(allocationPath))) }

// Uses returns the paths of the objects that an object refers to.
func (o *Object) Uses() []string {
	paths := append([]string{o.PoolPath}, o.ActiveMonitorPaths...)
	if o.AccessListControl != nil {
		paths = append(paths, o.AccessListControl.GroupPath)
	}

	return paths
}

// Created returns when the object was created, the zero time if that is not known.
func (o *Object) Created() time.Time {
	if o.CreateTime == 0 {
		return time.Time{}
	}

	return time.UnixMilli(o.CreateTime)
}

// HasMemberGroup reports whether the members of a pool are those of a group.
func (o *Object) HasMemberGroup() bool {
	return len(o.MemberGroup) > 0 && string(o.MemberGroup) != "null"
}

// Row returns the object as it is in a list.
func (o *Object) Row() *Object {
	row := *o
	row.Raw = nil

	return &row
}
