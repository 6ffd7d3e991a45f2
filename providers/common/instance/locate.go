package instance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// locatedFirst is how many Nodes are looked up before all others: so few that a cloud with
// many instances need not be listed to find one of them.
const locatedFirst = 16

// confirmedNodes is how many Nodes are confirmed to have no instance before that is an error.
const confirmedNodes = 3

// Located are the Nodes of a cloud by what was found of their instances.
type Located struct {
	Found []Instance
	// Missing are the names of Nodes that have no instance, Unknown those of which this
	// is not known, for instance because the time did not suffice.
	Missing, Unknown []string
}

// candidate is a Node whose instance is looked up. A kubelet that reports runs on a machine:
// the instance of a Node that is proof exists.
type candidate struct {
	ref   Ref
	proof bool
}

// Locate looks up the instances of all Nodes that are not of another cloud. It is an error if
// none is found, although Nodes with a provider ID are Ready, and that is confirmed for some of them: the
// source is of another region, project, account or server then. That some are missing is not an error.
func Locate(ctx context.Context, provider string, source Source, nodes []*v1.Node) (Located, error) {
	candidates := candidatesOf(provider, source, nodes)
	var located Located
	var failed error
	proofs := 0
	results := lookupCandidates(ctx, source, candidates)
	confirmAbsent(ctx, source, candidates, results)
	for i, result := range results {
		name := candidates[i].ref.NodeName
		found, err := result.living().Get()
		switch {
		case err == nil:
			located.Found = append(located.Found, found)
		case result.living().IsAbsent():
			located.Missing = append(located.Missing, name)
		default:
			located.Unknown = append(located.Unknown, name)
			failed = cmp.Or(failed, fmt.Errorf("look up node %q: %w", name, err))
		}
		if candidates[i].proof {
			proofs++
		}
	}
	switch {
	case len(located.Found) > 0 || proofs == 0:
		return located, nil
	case failed != nil:
		return located, failed
	}

	return located, apierr.Mark(apierr.ErrNotFound, fmt.Errorf(
		"the instances of all %d nodes are missing, among them that of node %q, which is Ready", len(candidates), candidates[0].ref.NodeName))
}

// candidatesOf returns the Nodes to look up, those that are proof first.
func candidatesOf(provider string, source Source, nodes []*v1.Node) []candidate {
	var proofs, others []candidate
	for _, node := range nodes {
		id := node.Spec.ProviderID
		kind := providerid.Classify(provider, id)
		if kind == providerid.Foreign || kind != providerid.Empty && source.Accepts(id) != nil {
			continue
		}
		c := candidate{ref: Ref{ProviderID: id, SystemUUID: node.Status.NodeInfo.SystemUUID, NodeName: node.Name}}
		_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
		if c.proof = id != "" && ready != nil && ready.Status == v1.ConditionTrue; c.proof {
			proofs = append(proofs, c)
		} else {
			others = append(others, c)
		}
	}

	return append(proofs, others...)
}

// lookupCandidates looks up a few Nodes, and then all others.
func lookupCandidates(ctx context.Context, source Source, candidates []candidate) []Result {
	results := make([]Result, len(candidates))
	first := min(len(candidates), locatedFirst)
	for _, part := range [][2]int{{0, first}, {first, len(candidates)}} {
		var all sync.WaitGroup
		for i := part[0]; i < part[1]; i++ {
			all.Go(func() { results[i] = source.Lookup(ctx, candidates[i].ref) })
		}
		all.Wait()
	}

	return results
}

// confirmAbsent replaces the results of a few Nodes that are proof, if all are absent: a lookup is no
// proof of that.
func confirmAbsent(ctx context.Context, source Source, candidates []candidate, results []Result) {
	if slices.ContainsFunc(results, func(r Result) bool { return !r.living().IsAbsent() }) {
		return
	}
	var all sync.WaitGroup
	for i, c := range candidates[:min(len(candidates), confirmedNodes)] {
		if c.proof {
			all.Go(func() { results[i] = source.Confirm(ctx, c.ref) })
		}
	}
	all.Wait()
}
