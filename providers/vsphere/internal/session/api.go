package session

// api is one of the two that a vCenter has.
type api int

const (
	apiSOAP api = iota
	apiREST
	apiCount
)

// String names the API in metrics and logs.
func (a api) String() string {
	if a == apiSOAP {
		return "soap"
	}

	return "rest"
}
