package openstack

// vmStatus is what makes a status: states of Nova's database, and whether
// responses have a progress.
type vmStatus struct {
	vmState   string
	taskState string // empty for none
	power     int
	progress  bool
}

// vmStatuses are all statuses of servers (nova: api/openstack/common.py,
// _STATE_MAP; compute/power_state.py; api/openstack/compute/views/servers.py,
// ViewBuilder._progress_statuses).
var vmStatuses = map[string]vmStatus{
	"ACTIVE":            {"active", "", 1, true},
	"BUILD":             {"building", "scheduling", 0, true},
	"DELETED":           {"deleted", "", 0, false},
	"ERROR":             {"error", "", 0, false},
	"HARD_REBOOT":       {"active", "rebooting_hard", 1, false},
	"MIGRATING":         {"active", "migrating", 1, true},
	"PASSWORD":          {"active", "updating_password", 1, false},
	"PAUSED":            {"paused", "", 3, false},
	"REBOOT":            {"active", "rebooting", 1, false},
	"REBUILD":           {"active", "rebuilding", 1, true},
	"RESCUE":            {"rescued", "", 1, false},
	"RESIZE":            {"active", "resize_prep", 1, true},
	"REVERT_RESIZE":     {"resized", "resize_reverting", 1, false},
	"SHELVED":           {"shelved", "", 4, false},
	"SHELVED_OFFLOADED": {"shelved_offloaded", "", 0, false},
	"SHUTOFF":           {"stopped", "", 4, false},
	"SOFT_DELETED":      {"soft-delete", "", 4, false},
	"SUSPENDED":         {"suspended", "", 4, false},
	"UNKNOWN":           {"unknown", "", 0, false},
	"VERIFY_RESIZE":     {"resized", "", 1, true},
}
