package request

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// In returns the names for use in a load balancer that has this name now. Names of the same
// Service in a cluster of another name are replaced only if they are that name, or those of
// its parts: the same namespace and name in a second cluster that shares the load balancer is
// another Service. The load balancer is renamed last, so its name is the one that its tags
// and parts have until then.
func (n Names) In(balancer string) Names {
	n.balancer = &balancer

	return n
}

// Renamed returns the name or tag that replaces one of the same Service in a cluster
// that had another name. A name of another Service is never replaced, whatever its
// cluster is: it may be a second cluster that shares the load balancer. Without [Names.In],
// the name of the load balancer does not matter, which is enough to decide what to read.
//
//	name of this cluster                          -
//	kube_service_<other>_<namespace>_<name>       replaced; <other> may contain _
//	the same, cut at 255 bytes                    replaced, if a part of <name> is left
//	anything else                                 -
func (n Names) Renamed(name string) (replacement string, ok bool) {
	wanted := n.LoadBalancer()
	if name == wanted || !n.isOfService(name, len(name)) || n.balancer != nil && name != *n.balancer {
		return "", false
	}

	return wanted, true
}

// RenamedPart returns the name that replaces that of a listener, pool or health monitor
// of the same Service in a cluster that had another name. It keeps the index.
func (n Names) RenamedPart(kind Part, name string) (replacement string, ok bool) {
	rest, found := strings.CutPrefix(name, string(kind)+"_")
	digits, balancer, hasIndex := strings.Cut(rest, "_")
	index, err := strconv.Atoi(digits)
	if !found || !hasIndex || err != nil || strconv.Itoa(index) != digits || index < 0 {
		return "", false
	}
	wanted := n.Part(kind, index)
	if n.balancer != nil {
		_, renamed := n.Renamed(*n.balancer)

		if !renamed || name == wanted || name != part(kind, index, *n.balancer) {
			return "", false
		}

		return wanted, true
	}
	if name == wanted || !n.isOfService(balancer, len(name)) {
		return "", false
	}

	return wanted, true
}

// Former returns the names that the Service had when a tag was its own, in a cluster of another
// name. It does not for a tag that was cut.
func (n Names) Former(tag string) (former Names, ok bool) {
	rest, prefixed := strings.CutPrefix(tag, ServicePrefix)
	cluster, named := strings.CutSuffix(rest, "_"+n.Service.Namespace+"_"+n.Service.Name)
	former = n
	former.Cluster = cluster

	return former, prefixed && named && tag != n.LoadBalancer() && tag == former.LoadBalancer()
}

// isOfService reports whether a name is one that the load balancer of the Service has or
// had, whatever the cluster was called. The length is that of the whole name that it is
// the end of.
func (n Names) isOfService(name string, length int) bool {
	rest, found := strings.CutPrefix(name, ServicePrefix)
	if !found {
		return false
	}
	if strings.HasSuffix(rest, "_"+n.Service.Namespace+"_"+n.Service.Name) {
		return true
	}
	if length <= longest-utf8.UTFMax || length > longest {
		return false // it was not cut
	}
	namespace := "_" + n.Service.Namespace + "_"
	at := strings.LastIndex(rest, namespace)
	if at < 0 {
		return false
	}
	part := rest[at+len(namespace):]

	return part != "" && strings.HasPrefix(n.Service.Name, part)
}
