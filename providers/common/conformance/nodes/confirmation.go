package nodes

import (
	"errors"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// confirmationCases are about the query that a Node is deleted by: one for this
// purpose, to the cloud itself (FW-NODE-2).
func confirmationCases() []testCase {
	return []testCase{
		{Name: "an instance that a list does not have yet makes no node gone", Run: laterThanList},
		{Name: "an instance deleted right after it was found makes its node gone", Run: deletedAfterFound},
		{Name: "each node is gone by a call of its own", Run: goneByOwnCall},
	}
}

// laterThanList: the cloud has each instance, though what was read just before does
// not have it.
func laterThanList(f *fixture) {
	f.connect()
	f.initialize(f.Create())
	for range harness.Rounds {
		m := f.Create()
		node := harness.NewNode(m.Ref)
		f.Eventually("InstanceExists of an instance that was made just now", func() error {
			exists, err := f.exists(node)
			if err == nil && !exists {
				f.T.Fatal("the node of an instance that exists is gone")
			}

			return err
		})
	}
}

// deletedAfterFound: what found the instance, a confirmation as well, counts no
// longer once it is deleted.
func deletedAfterFound(f *fixture) {
	f.connect()
	f.initialize(f.Create())
	for range harness.Rounds {
		m := f.Create()
		node := harness.NewNode(m.Ref)
		f.Eventually("InstanceExists of an instance that was made just now", func() error {
			exists, err := f.exists(node)
			if err == nil && !exists {
				f.T.Fatal("the node of an instance that exists is gone")
			}

			return err
		})
		f.Cloud.Delete(f.T, m.Ref)
		f.waitGone(node)
	}
}

// goneByOwnCall: what was read for the Node before must not decide about the next
// one, however new it is. The query that found the Node gone is made within the
// call: earlier results of the same query would be shared.
func goneByOwnCall(f *fixture) {
	machines := f.CreateMany(harness.Rounds)
	f.connect()
	f.initialize(f.Create())
	for _, m := range machines {
		f.initialize(m)
	}
	for _, m := range machines {
		f.Cloud.Delete(f.T, m.Ref)
	}
	for _, m := range machines {
		node := harness.NewNode(m.Ref)
		f.Eventually("the node of a deleted instance is gone", func() error {
			before := f.Cloud.Calls()
			exists, err := f.exists(node)
			switch {
			case err != nil:
				return err
			case exists:
				return errors.New("it exists")
			case f.Cloud.Calls() == before:
				f.T.Errorf("the node of %s is gone without a call of its own", m.ProviderID)
			}

			return nil
		})
	}
}
