package certainty

import (
	"errors"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrPartialList means that a list does not prove which server has a name: a part of
// it is missing, or the servers of a cell that is down have no names.
var ErrPartialList = unusable("not all servers of the project could be listed, and neither the system UUID nor an address of the Node confirms its server")

// ErrSeveral means that several servers have the name of a Node. It is
// apierr.ErrConflict.
var ErrSeveral = apierr.Mark(apierr.ErrConflict, errors.New("several servers of the project have the name of the Node"))

// ByName returns the index of the row whose server has the name of a Node, -1 if none
// has. Complete is whether no other server can have the name. Nova on MySQL does
// not distinguish case, so that a server Node-1 serves the Node node-1, unless another
// one has exactly that name. Several are [ErrSeveral].
//
// That no server has a name never proves that a server is gone.
func (s Scope) ByName(name string, rows []Row, complete bool) (int, error) {
	if !complete || s.Project == "" {
		return -1, ErrPartialList
	}
	exact, similar := []int{}, []int{}
	for i, row := range rows {
		verdict := s.Exists(row.ID, row)
		switch {
		case verdict.Kind == Uncertain && !errors.Is(verdict.Reason, ErrOtherProject):
			return -1, ErrPartialList
		case verdict.Kind != Present:
		case row.Name == name:
			exact = append(exact, i)
		case strings.EqualFold(row.Name, name):
			similar = append(similar, i)
		}
	}
	if len(exact) == 0 {
		exact = similar
	}
	switch len(exact) {
	case 0:
		return -1, nil
	case 1:
		return exact[0], nil
	}

	return -1, ErrSeveral
}
