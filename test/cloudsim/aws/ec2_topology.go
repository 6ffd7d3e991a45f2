package aws

type topologyState struct{ unsupported bool }

func newTopologyState() topologyState { return topologyState{} }
