package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
)

// The suffixes of dotted keys, as in <server>.username.
const (
	dotUsername     = ".username"
	dotPassword     = ".password"
	dotManagerURL   = ".vc-session-manager-url"
	dotManagerToken = ".vc-session-manager-token"
)

// The prefixes of suffixed keys, as in username_<id>.
const (
	serverUnder   = "server_"
	usernameUnder = "username_"
	passwordUnder = "password_"
)

// Parse reads the keys of a Secret, or the files of a directory by name, and
// returns the credentials of each server that are complete. Both forms of keys may
// be mixed:
//
//	dotted    <server>.username, <server>.password, or
//	          <server>.vc-session-manager-url, <server>.vc-session-manager-token
//	suffixed  server_<id>, username_<id>, password_<id>
//
// One newline at the end of a value is removed; if both forms have the same server,
// the suffixed one wins. Keys belong together if they have the same server or the
// same id: a user of one set is never used with the password of another. The error
// joins everything that is wrong, and names keys, never values; the credentials of
// other servers are returned together with it.
func Parse(data map[string][]byte) (map[string]Credentials, error) {
	if len(data) == 0 {
		return nil, ErrMissing
	}
	p := parser{data: data, dotted: map[string]*keySet{}, suffixed: map[string]*keySet{}}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !p.readDotted(key) && !p.readSuffixed(key) {
			p.problems = append(p.problems, fmt.Errorf("%w %q", ErrUnknownKey, key))
		}
	}
	found, partial := map[string]Credentials{}, map[string]bool{}
	for _, sets := range []map[string]*keySet{p.dotted, p.suffixed} {
		for _, name := range slices.Sorted(maps.Keys(sets)) {
			s := sets[name]
			found[s.server] = s.credentials
			if err := s.problem(); err != nil {
				p.problems = append(p.problems, err)
				partial[s.server] = true
			}
		}
	}
	maps.DeleteFunc(found, func(server string, _ Credentials) bool { return partial[server] })

	return found, errors.Join(p.problems...)
}

// keySet is the keys that belong together: those of one server, or of one id.
type keySet struct {
	server      string
	credentials Credentials
	key         string // one of them
}

// problem returns an error if the set is not enough to log in with.
func (s *keySet) problem() error {
	if err := s.credentials.check(); err != nil {
		return &partialError{server: s.server, err: fmt.Errorf("%w for the server of %q", err, s.key)}
	}

	return nil
}

type parser struct {
	data     map[string][]byte
	dotted   map[string]*keySet // by server
	suffixed map[string]*keySet // by id
	problems []error
}

// partialError means that a server has a part of the credentials that a login takes.
// It is not known what was meant, so no other source is tried.
type partialError struct {
	server string // empty if it is not known
	err    error
}

func (e *partialError) Error() string { return e.err.Error() }
func (e *partialError) Unwrap() error { return e.err }

// hasPart reports whether the result of Parse has a part of the credentials of a
// server, or of a server that is not named.
func hasPart(problem error, server string) bool {
	found := false
	walk(problem, func(err error) {
		part, ok := err.(*partialError) //nolint:errorlint // walk unwraps
		found = found || ok && (part.server == "" || part.server == server)
	})

	return found
}

// readDotted stores a key of the dotted form, and reports whether it is one.
func (p *parser) readDotted(key string) bool {
	for _, end := range []string{dotUsername, dotPassword, dotManagerURL, dotManagerToken} {
		if server, ok := strings.CutSuffix(key, end); ok && server != "" {
			p.set(p.dotted, server, key, end).server = server

			return true
		}
	}

	return false
}

// readSuffixed stores a key of the suffixed form, and reports whether it is one.
func (p *parser) readSuffixed(key string) bool {
	for start, end := range map[string]string{serverUnder: "", usernameUnder: dotUsername, passwordUnder: dotPassword} {
		id, ok := strings.CutPrefix(key, start)
		if !ok || id == "" {
			continue
		}
		server := credential.Value(p.data, serverUnder+id)
		if server == "" {
			err := fmt.Errorf("%w: %q has no %q", ErrIncomplete, key, serverUnder+id)
			p.problems = append(p.problems, &partialError{err: err})
		} else {
			p.set(p.suffixed, id, key, end).server = server
		}

		return true
	}

	return false
}

// set stores the value of a key as the part of the credentials that the suffix names.
// An empty suffix is that of a server alone.
func (p *parser) set(sets map[string]*keySet, name, key, end string) *keySet {
	s := sets[name]
	if s == nil {
		s = &keySet{}
		sets[name] = s
	}
	s.key = key
	switch value := credential.Value(p.data, key); end {
	case dotUsername:
		s.credentials.User = value
	case dotPassword:
		s.credentials.Password = config.Secret(value)
	case dotManagerURL:
		s.credentials.ManagerURL = value
	case dotManagerToken:
		s.credentials.ManagerToken = config.Secret(value)
	}

	return s
}
