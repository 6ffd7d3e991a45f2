package aws

// SetSparse makes responses leave out what AWS leaves out now and then: instances
// without placement and state, load balancers without state.
func (c *Cloud) SetSparse(sparse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sparse = sparse
}
