package octavia_test

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// monitored are the settings of health monitors of most tests.
var monitored = request.MonitorSettings{Create: true, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
