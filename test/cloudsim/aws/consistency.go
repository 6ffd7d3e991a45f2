package aws

import "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"

// Consistency delays the view that reads have of new objects.
type Consistency = simstate.Consistency

// SetConsistency sets how long objects that are created from now on stay hidden.
func (c *Cloud) SetConsistency(consistency Consistency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consistency = consistency
}

// created is what an object that is created now is embedded with.
func (c *Cloud) created() simstate.Created {
	return simstate.Created{At: c.opts.Clock.Now(), Consistency: c.consistency}
}

// visible reports whether the running operation sees an object.
func (c *Cloud) visible(object *simstate.Created) bool {
	return object.Visible(c.operation, c.opts.Clock.Now())
}

// changeable reports whether the running operation, which changes an object, finds it.
func (c *Cloud) changeable(object *simstate.Created) bool {
	return object.Changeable(c.operation, c.opts.Clock.Now())
}
