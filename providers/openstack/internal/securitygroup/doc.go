// Package securitygroup manages the security group of the load balancer of a Service: its
// rules, and which ports of Nodes have it.
//
// A load balancer reaches its members through the security groups of their ports. With
// manage-security-groups, each Service has a group of its own, which allows its node ports
// from the subnet of the members, and the ports of its Nodes have that group along with
// their others. With a provider that keeps the source addresses of clients, it allows the
// node ports from the ranges of the clients.
//
// What it promises:
//
//   - Names, descriptions and rules are those of the upstream cloud controller manager.
//   - There is one group for each Service. It is found by its name, which has the UID of
//     the Service. Of several, which a list that was short can lead to, the one that most
//     ports have stays.
//   - A group that is in order costs three reads, however many Nodes there are: the group,
//     its rules and the ports that have it. Ports of the servers of other Nodes cost one
//     read for each 50 of them.
//   - A port keeps all its other groups: each write requires the revision that was read.
//   - As long as anything is not known, such as the port of a Node or a subnet, nothing is
//     taken away.
//   - What Neutron refuses, such as one rule or one port, costs itself, with a warning.
//
// Which groups are ours is decided by package certainty.
package securitygroup
