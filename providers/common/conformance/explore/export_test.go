package explore

// InScope is inScope for tests.
var InScope = inScope
