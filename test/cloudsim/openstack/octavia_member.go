package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
)

// lbPoolOf returns the pool in a path of members. A pool that does not exist is 404
// before anything else is looked at, in a shape of its own (octavia:
// api/v2/controllers/pool.py, _lookup; compared with Zed).
func (k *call) lbPoolOf() (*lbObject, error) {
	id := k.path("pool")
	if p := k.region.octavia.pools.get(id); p != nil {
		return p, nil
	}
	problem := lbNotFound(lbPools, id)
	body, err := json.Marshal(object{"code": http.StatusNotFound, "title": "Bad Request", "description": problem.message})
	if err != nil {
		return nil, err
	}
	problem.raw = body

	return nil, problem
}

// listMembers handles GET /lbaas/pools/{pool}/members.
func listMembers(k *call) (response, error) {
	p, err := k.lbPoolOf()
	if err != nil {
		return response{}, err
	}
	if !k.lbReads(p.projectID) {
		return response{}, lbForbidden()
	}
	members := make([]*lbObject, len(p.members))
	for i, id := range p.members {
		members[i] = k.region.octavia.members.get(id)
	}

	return k.lbPage(lbMembers, members)
}

// showMember handles GET /lbaas/pools/{pool}/members/{id}.
func showMember(k *call) (response, error) {
	if _, err := k.lbPoolOf(); err != nil {
		return response{}, err
	}
	m, err := k.lbGet(lbMembers, k.path("id"))
	if err != nil {
		return response{}, err
	}
	if m.pool != k.path("pool") {
		return response{}, lbNotFound(lbMembers, m.id)
	}

	return k.lbShown(m)
}

// createMember handles POST /lbaas/pools/{pool}/members.
func createMember(k *call) (response, error) {
	p, err := k.lbPoolOf()
	if err != nil {
		return response{}, err
	}
	_, values, err := k.lbRequest(lbMembers, inPost)
	if err != nil {
		return response{}, err
	}
	if !k.lbWrites(p.projectID) {
		return response{}, lbForbidden()
	}
	if err := lbReserved(values); err != nil {
		return response{}, err
	}
	if err := k.lbMemberSubnet(values); err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbMembers, p.projectID, 1); err != nil {
		return response{}, err
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	if err := k.driverMember(p, values, false); err != nil {
		return response{}, err
	}
	m, err := k.lbAddMember(p, values, k.lbPairs(p))
	if err != nil {
		return response{}, err
	}
	k.lbPoolChanged(p)

	return reply(http.StatusCreated, object{"member": k.lbDocument(m)})
}

// lbReserved refuses addresses on the deny list (octavia: common/config.py,
// reserved_ips).
func lbReserved(values object) error {
	ip := netip.MustParseAddr(values["address"].(string)).Unmap()
	if ip == netip.MustParseAddr("169.254.169.254") {
		return invalidOption(ip.String(), "member address")
	}

	return nil
}

// lbMemberSubnet refuses a subnet that the caller cannot use.
func (k *call) lbMemberSubnet(values object) error {
	id, _ := values["subnet_id"].(string)
	if id == "" {
		return nil
	}
	_, err := k.lbSubnet(id)

	return err
}

// lbPair is what tells the members of a pool apart.
func lbPair(address string, port int) string {
	return netip.MustParseAddr(address).String() + " " + strconv.Itoa(port)
}

func (o *lbObject) pair() string { return lbPair(o.text("address"), o.number("protocol_port")) }

// lbPairs returns what tells the members of a pool apart.
func (k *call) lbPairs(p *lbObject) map[string]bool {
	taken := make(map[string]bool, len(p.members))
	for _, id := range p.members {
		taken[k.region.octavia.members.get(id).pair()] = true
	}

	return taken
}

// lbAddMember adds a member, of which there is one for each address and port. Those that are
// taken already are those of lbPairs.
func (k *call) lbAddMember(p *lbObject, values object, taken map[string]bool) (*lbObject, error) {
	address, port := values["address"].(string), values["protocol_port"].(int)
	pair := lbPair(address, port)
	if taken[pair] {
		return nil, lbDuplicate(address, port)
	}
	if lb := k.region.octavia.loadBalancers.get(p.lb); lb.status == lbPendingCreate {
		if err := k.driverMember(p, values, true); err != nil {
			return nil, err
		}
	}

	taken[pair] = true

	return k.lbPutMember(p, values), nil
}

func lbDuplicate(address string, port int) *apiError {
	return fail(http.StatusConflict, "", "Another member on this pool is already using ip %s on protocol_port %d", address, port)
}

func (k *call) lbPutMember(p *lbObject, values object) *lbObject {
	m := k.lbNew(lbMembers, p.projectID, values)
	m.lb, m.pool = p.lb, p.id
	m.operating = "NO_MONITOR"
	// In a new load balancer only pools of UDP and SCTP see their monitor (compared with
	// Zed).
	seen := k.region.octavia.loadBalancers.get(p.lb).status != lbPendingCreate || layer4(p.text("protocol")) != "tcp"
	if p.monitor != "" && seen {
		m.operating = "OFFLINE"
	}
	p.members = append(slices.Clip(p.members), m.id)

	return m
}

// lbPoolChanged makes a load balancer pending because of the members or the monitor
// of a pool.
func (k *call) lbPoolChanged(p *lbObject) {
	k.lbChanged(k.region.octavia.loadBalancers.get(p.lb), append(k.region.octavia.listenersOf(p), p)...)
}

// lbMemberForWrite returns a member that a call may change, and its pool.
func (k *call) lbMemberForWrite() (m, p *lbObject, err error) {
	if _, err := k.lbPoolOf(); err != nil {
		return nil, nil, err
	}
	m, _, err = k.lbGetForWrite(lbMembers, k.path("id"))
	if err != nil {
		return nil, nil, err
	}
	if m.pool != k.path("pool") {
		return nil, nil, lbNotFound(lbMembers, m.id)
	}

	return m, k.region.octavia.pools.get(m.pool), nil
}

// updateMember handles PUT /lbaas/pools/{pool}/members/{id}. What is not in it stays,
// other than with [updateMembers].
func updateMember(k *call) (response, error) {
	if _, err := k.lbPoolOf(); err != nil {
		return response{}, err
	}
	_, values, err := k.lbRequest(lbMembers, inPut)
	if err != nil {
		return response{}, err
	}
	m, p, err := k.lbMemberForWrite()
	if err != nil {
		return response{}, err
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	if err := k.driverMember(p, values, false); err != nil {
		return response{}, err
	}
	m.apply(values)
	m.status, m.updated = lbPendingUpdate, k.now()
	k.lbPoolChanged(p)

	return k.lbShown(m)
}

// deleteMember handles DELETE /lbaas/pools/{pool}/members/{id}.
func deleteMember(k *call) (response, error) {
	m, p, err := k.lbMemberForWrite()
	if err != nil {
		return response{}, err
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	k.lbPoolChanged(p)
	m.status = lbPendingDelete

	return reply(http.StatusNoContent, nil)
}

// batch is a write of all members of a pool.
type batch struct {
	news    []object
	updates map[*lbObject]object
	order   []*lbObject // of updates
	deletes []*lbObject
	twice   bool // an old member is in it twice
}

// updateMembers handles PUT /lbaas/pools/{pool}/members (octavia:
// api/v2/controllers/member.py, MembersController.put). Members are those of the same
// address and port: their ID stays, and what is not in the request goes back to its
// default, since the type of the request is that of a new member; name, subnet and
// tags have none and stay. A subnet that is sent is taken, and not even looked for.
// With a new member twice the request is 409. With an old one twice it is 400 in later
// versions; Zed takes the last one of them, and its worker drops the change, so that
// the load balancer stays PENDING_UPDATE forever (tried with Zed). Equal members make the load balancer pending, too; none over none do not.
func updateMembers(k *call) (response, error) {
	p, err := k.lbPoolOf()
	if err != nil {
		return response{}, err
	}
	rows, err := k.lbBatchRows()
	if err != nil {
		return response{}, err
	}
	additive, _ := truth(json.RawMessage(`"` + k.query.Get("additive_only") + `"`))
	if k.query.Has("additive_only") && k.octaviaMinor() < sinceAdditive {
		return response{}, fail(http.StatusBadRequest, "", `Unknown argument: "additive_only"`)
	}
	if !k.lbWrites(p.projectID) {
		return response{}, lbForbidden()
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	b, err := k.lbBatch(p, rows, additive == true)
	if err != nil {
		return response{}, err
	}
	if b.twice && k.octaviaMinor() > zedMinor {
		return response{}, invalid("The request has a member twice.")
	}
	if len(b.news)+len(b.order)+len(b.deletes) == 0 {
		return reply(http.StatusAccepted, nil)
	}
	if err := k.lbCheckBatch(p, b); err != nil {
		return response{}, err
	}
	k.lbApplyBatch(p, b)
	if b.twice {
		k.region.octavia.loadBalancers.get(p.lb).change++ // what would end the change is void
	}

	return reply(http.StatusAccepted, nil)
}

// lbBatchRows returns the checked members of a request.
func (k *call) lbBatchRows() ([]object, error) {
	body, err := k.lbBody()
	if err != nil {
		return nil, err
	}
	if unknown := body.unknown("members"); len(unknown) > 0 {
		return nil, unknownFields("members_", unknown)
	}
	if len(body["members"]) == 0 {
		return nil, fail(http.StatusInternalServerError, "", "'UnsetType' object is not iterable")
	}
	var rows []attributes
	if err := json.Unmarshal(body["members"], &rows); err != nil {
		return nil, invalidField("members", pythonText(body["members"]), "Wrong type. Expected a list")
	}
	batch := *lbMembers
	batch.argument = "members_.members"
	out := make([]object, len(rows))
	for i, row := range rows {
		if out[i], err = k.lbValues(&batch, row, inPost); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// lbBatch finds out what is new, old and gone.
func (k *call) lbBatch(p *lbObject, rows []object, additive bool) (*batch, error) {
	old := make(map[string]*lbObject, len(p.members))
	for _, id := range p.members {
		m := k.region.octavia.members.get(id)
		old[m.pair()] = m
	}
	b := &batch{updates: make(map[*lbObject]object)}
	for _, values := range rows {
		m := old[lbPair(values["address"].(string), values["protocol_port"].(int))]
		if m == nil {
			if err := lbReserved(values); err != nil {
				return nil, err
			}
			b.news = append(b.news, values)

			continue
		}
		if b.updates[m] == nil {
			b.order = append(b.order, m)
		}
		b.twice = b.twice || b.updates[m] != nil
		b.updates[m] = values
	}
	if additive {
		return b, nil
	}
	for _, id := range p.members {
		if m := k.region.octavia.members.get(id); b.updates[m] == nil {
			b.deletes = append(b.deletes, m)
		}
	}

	return b, nil
}

// lbCheckBatch refuses a batch as a whole.
func (k *call) lbCheckBatch(p *lbObject, b *batch) error {
	if added := len(b.news) - len(b.deletes); added > 0 {
		if err := k.lbQuotaFor(lbMembers, p.projectID, added); err != nil {
			return err
		}
	}
	seen := make(map[string]bool, len(b.news))
	for _, values := range b.news {
		if err := k.lbMemberSubnet(values); err != nil {
			return err
		}
		address, port := values["address"].(string), values["protocol_port"].(int)
		if seen[lbPair(address, port)] {
			return lbDuplicate(address, port)
		}
		seen[lbPair(address, port)] = true
		if err := k.driverMember(p, values, false); err != nil {
			return err
		}
	}
	for _, m := range b.order {
		if err := k.driverMember(p, b.updates[m], false); err != nil {
			return err
		}
	}

	return nil
}

func (k *call) lbApplyBatch(p *lbObject, b *batch) {
	k.lbPoolChanged(p)
	for _, values := range b.news {
		k.lbPutMember(p, values)
	}
	for _, m := range b.order {
		changes := lbMembers.complete(b.updates[m])
		if _, sent := b.updates[m]["subnet_id"]; !sent {
			delete(changes, "subnet_id")
		}
		if _, sent := b.updates[m]["name"]; !sent {
			delete(changes, "name")
		}
		if b.updates[m]["tags"] == nil {
			delete(changes, "tags")
		}
		m.set(changes)
		m.status, m.updated = lbPendingUpdate, k.now()
	}
	for _, m := range b.deletes {
		m.status = lbPendingDelete
	}
}
