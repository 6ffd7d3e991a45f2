// Package tagging is the tagging controller: it adds configured tags to the
// instances of Nodes, and removes them when a Node is deleted.
//
// What it promises: an instance is tagged once for a set of tags, which a label on the Node records; a
// tag that cannot be written is tried again a bounded number of times, with growing delays; a Node
// that has no instance here costs nothing; several requests for the same instance are one. An instance
// that EC2 rejects costs the others of its call a few more calls, and none of their retries. If EC2
// refuses one instance after another, the tags are the likely cause: one instance at a time is tried
// until EC2 accepts them.
package tagging
