package nodes

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// LabelVCenter is the label of a Node whose value is the instance UUID of the vCenter
// (about.instanceUuid) in which the VM of the Node was found last. It outlives the
// process: a missing VM proves nothing in a vCenter that has none of the VMs it had.
const LabelVCenter = "multicloud-ccm.io/vcenter-uuid"

// label returns the value of the label for Nodes of the vCenter, or nothing as long
// as the instance UUID is not known.
func (vc *VCenter) label() string {
	uuid := vc.Inventory.InstanceUUID()
	if len(content.IsLabelValue(uuid)) > 0 {
		return ""
	}

	return uuid
}

// labelsFor returns the labels of a Node that is being initialized.
func (s *Source) labelsFor(vc *VCenter) map[string]string {
	uuid := vc.label()
	if uuid == "" {
		return s.cfg.Labels
	}
	all := map[string]string{}
	maps.Copy(all, s.cfg.Labels)
	all[LabelVCenter] = uuid

	return all
}

// relabel has an initialized Node name the vCenter of its VM. What is out of date, or
// may be a copy, does not change the label.
func (s *Source) relabel(node *v1.Node, v vm) {
	uuid := v.vcenter.label()
	if uuid != "" && uuid != node.Labels[LabelVCenter] && v.current && v.doubt == nil {
		s.labeler.want(node, uuid)
	}
}

// labeled returns the vCenter that a Node names, or nothing.
func (s *Source) labeled(nodeName string) string {
	node := s.nodes.Load().Node(nodeName)
	if node == nil {
		return ""
	}

	return node.Labels[LabelVCenter]
}

// initialized reports whether a Node is known to be initialized.
func (s *Source) initialized(nodeName string) bool {
	node := s.nodes.Load().Node(nodeName)

	return node != nil && instance.Initialized(node)
}

// hosts reports whether any Node names a vCenter.
func (s *Source) hosts(vcenter string) bool { return len(s.nodes.Load().Find(vcenter)) > 0 }

// sharing returns the names of the other Nodes that have a UUID of the query.
func (s *Source) sharing(ref instance.Ref, q inventory.Query) []string {
	if len(q.UUIDs) == 0 {
		return nil
	}
	var names []string
	for _, node := range s.nodes.Load().Find(uuidKey(q.UUIDs[0])) {
		if node.Name != ref.NodeName {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)

	return names
}

// nodesIndex is the name of the index of Nodes by the vCenter that they name and by
// the UUIDs of their VMs.
const nodesIndex = "vsphere-vcenter-and-vm"

// uuidKey is the key of Nodes by the UUID of their VM.
func uuidKey(uuid string) string { return "vm/" + uuid }

// IndexNodes adds that index, which [Source.SetNodes] takes, to the informer of Nodes.
func IndexNodes(nodes cache.SharedIndexInformer) (*nodeindex.Index, error) {
	return nodeindex.New(nodes, nodesIndex, func(node *v1.Node) []string {
		var keys []string
		if vcenter := node.Labels[LabelVCenter]; vcenter != "" {
			keys = append(keys, vcenter)
		}
		queries, err := queriesOf(refOf(node))
		if err != nil {
			return keys // a Node of another provider
		}
		for _, q := range queries {
			keys = append(keys, lists.Map(q.UUIDs, uuidKey)...)
		}

		return keys
	})
}

// refOf is what a Node states about its VM.
func refOf(node *v1.Node) instance.Ref {
	return instance.Ref{ProviderID: node.Spec.ProviderID, SystemUUID: node.Status.NodeInfo.SystemUUID, NodeName: node.Name}
}
