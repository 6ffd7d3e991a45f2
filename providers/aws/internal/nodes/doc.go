// Package nodes finds the instances of Nodes, those of Fargate included, and describes
// them: [Source] is the instance.Source of the provider. It decides which addresses, zone
// and topology a Node gets. Instances are read by package inventory.
package nodes
