package login

// WithFastHash makes the hashes of a guard with a store cheap, for tests with many
// processes.
func WithFastHash() Option { return func(g *Guard) { g.stored.iterations = 1 } }
