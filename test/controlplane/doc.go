// Package controlplane runs a real etcd and a real kube-apiserver for tests,
// the demo and the benchmarks.
//
// What it promises:
//
//   - Start returns when the API server is ready and holds what a cloud
//     controller manager looks for: the namespace kube-system and the ConfigMap
//     extension-apiserver-authentication in it. Authorization is RBAC;
//     ServiceAccount tokens, TokenReview and SubjectAccessReview work.
//   - Any number of control planes can run at once. The API server's port is
//     reserved until Stop, and etcd serves on a socket in the control plane's
//     own directory, so no two of them ever want the same address.
//   - Stop leaves no process behind. On Linux neither does a caller that is
//     killed: the kernel then ends the children.
//   - The error of a failed start names the process that failed and has the end
//     of its log.
//
// There is no controller manager, no scheduler and no kubelet: nothing happens
// to an object unless a test does it. RegisterNode does what the kubelet does.
// The admission plugin TaintNodesByCondition is off, because nothing would ever
// take away the not-ready taint that it puts on every new node; all others are
// as Kubernetes ships them.
//
// The binaries come from Locate.
package controlplane
