package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// The ends of dotted keys, as in <server>.username.
const (
	dotUsername     = ".username"
	dotPassword     = ".password"
	dotManagerURL   = ".vc-session-manager-url"
	dotManagerToken = ".vc-session-manager-token"
)

// The beginnings of suffixed keys, as in username_<id>.
const (
	serverUnder   = "server_"
	usernameUnder = "username_"
	passwordUnder = "password_"
)

// Parse reads the keys of a Secret, or the files of a directory by name, and
// returns the credentials of each server it finds whole. Both forms of keys may
// be mixed:
//
//	dotted    <server>.username, <server>.password, or
//	          <server>.vc-session-manager-url, <server>.vc-session-manager-token
//	suffixed  server_<id>, username_<id>, password_<id>
//
// One newline at the end of a value is cut off; where both forms speak of one
// server, the suffixed one wins. The error tells everything that is wrong,
// joined; servers that are whole are returned beside it. It names keys, never
// values.
func Parse(data map[string][]byte) (map[string]Credentials, error) {
	if len(data) == 0 {
		return nil, ErrMissing
	}
	p := parser{data: data, found: map[string]Credentials{}, keys: map[string]string{}}
	var rest []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !p.takeDotted(key) {
			rest = append(rest, key)
		}
	}
	for _, key := range rest {
		if !p.takeSuffixed(key) {
			p.problems = append(p.problems, fmt.Errorf("%w %q", ErrUnknownKey, key))
		}
	}
	p.dropUnusable()

	return p.found, errors.Join(p.problems...)
}

type parser struct {
	data     map[string][]byte
	found    map[string]Credentials
	keys     map[string]string // of a server that was found: a key to name it by
	problems []error
}

// value is what stands under a key.
func (p *parser) value(key string) string {
	return strings.TrimSuffix(string(p.data[key]), "\n")
}

// takeDotted sorts in a key of the dotted form, and says whether it is one.
func (p *parser) takeDotted(key string) bool {
	for _, end := range []string{dotUsername, dotPassword, dotManagerURL, dotManagerToken} {
		if server, ok := strings.CutSuffix(key, end); ok && server != "" {
			p.set(server, key, end)
			return true
		}
	}

	return false
}

// takeSuffixed sorts in a key of the suffixed form, and says whether it is one.
func (p *parser) takeSuffixed(key string) bool {
	for start, end := range map[string]string{serverUnder: "", usernameUnder: dotUsername, passwordUnder: dotPassword} {
		id, ok := strings.CutPrefix(key, start)
		if !ok || id == "" {
			continue
		}
		if server := p.value(serverUnder + id); server != "" {
			p.set(server, key, end)
		} else {
			p.problems = append(p.problems, fmt.Errorf("%w: %q has no %q", ErrIncomplete, key, serverUnder+id))
		}

		return true
	}

	return false
}

// set stores the value of a key as the part of a server's credentials that the
// end stands for. Without an end it only notes that the server was named.
func (p *parser) set(server, key, end string) {
	c, value := p.found[server], p.value(key)
	switch end {
	case dotUsername:
		c.User = value
	case dotPassword:
		c.Password = config.Secret(value)
	case dotManagerURL:
		c.ManagerURL = value
	case dotManagerToken:
		c.ManagerToken = config.Secret(value)
	}
	p.found[server] = c
	p.keys[server] = key
}

// dropUnusable reports the servers that nobody could log in to.
func (p *parser) dropUnusable() {
	for _, server := range slices.Sorted(maps.Keys(p.found)) {
		if err := p.found[server].check(); err != nil {
			p.problems = append(p.problems, fmt.Errorf("%w for the server of %q", err, p.keys[server]))
			delete(p.found, server)
		}
	}
}
