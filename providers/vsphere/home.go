package vsphere

// LabelVCenter is the label of a Node whose value is the instance UUID of the vCenter
// (about.instanceUuid) in which the VM of the Node was found last. It outlives the
// process: a vCenter without the VM is no proof that it was deleted if the Node was
// found in another one, or in none that is configured.
const LabelVCenter = "multicloud-ccm.io/vcenter-uuid"

// labeled returns the vCenter that a Node names, or nothing.
func (s *source) labeled(nodeName string) string {
	lister := s.nodes.Load()
	if lister == nil {
		return ""
	}
	node, err := (*lister).Get(nodeName)
	if err != nil {
		return ""
	}
	return node.Labels[LabelVCenter]
}
