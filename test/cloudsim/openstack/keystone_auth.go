package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// authRequest is the body of a login (keystone: api-ref v3, password,
// token, and application credential authentication).
type authRequest struct {
	Auth struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password *struct {
				User userRequest `json:"user"`
			} `json:"password"`
			Token *struct {
				ID string `json:"id"`
			} `json:"token"`
			ApplicationCredential *struct {
				ID     string       `json:"id"`
				Name   string       `json:"name"`
				Secret string       `json:"secret"`
				User   *userRequest `json:"user"`
			} `json:"application_credential"`
			TOTP *struct {
				User struct {
					ID       string `json:"id"`
					Passcode string `json:"passcode"`
				} `json:"user"`
			} `json:"totp"`
		} `json:"identity"`
		Scope json.RawMessage `json:"scope"`
	} `json:"auth"`
}

type domainRequest struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type userRequest struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Password string         `json:"password"`
	Domain   *domainRequest `json:"domain"`
}

type scopeRequest struct {
	Project *struct {
		ID     string         `json:"id"`
		Name   string         `json:"name"`
		Domain *domainRequest `json:"domain"`
	} `json:"project"`
	Domain *domainRequest `json:"domain"`
	Trust  *struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
}

// login is what the methods of a request have proven.
type login struct {
	user       *user
	credential *applicationCredential
	token      *token    // the one that was shown
	methods    []string  // of the new token
	notAfter   time.Time // zero for any time
}

// refused is the response to every login that fails, whatever the reason
// (keystone: exception.py, Unauthorized; insecure_debug is off).
func refused() *apiError {
	return fail(http.StatusUnauthorized, "", "The request you have made requires authentication.")
}

// createToken logs in.
func createToken(k *call) (response, error) {
	var request authRequest
	if err := k.decode(&request); err != nil {
		return response{}, err
	}
	if len(request.Auth.Identity.Methods) == 0 {
		return response{}, fail(http.StatusBadRequest, "", "'identity' is a required property")
	}
	who, err := k.identify(&request)
	if err != nil {
		return response{}, err
	}
	made := token{userID: who.user.id, methods: who.methods}
	if who.credential != nil {
		made.credentialID, made.projectID = who.credential.id, who.credential.projectID
	}
	if err := k.scope(&made, who, request.Auth.Scope); err != nil {
		return response{}, err
	}
	t := k.cloud.issue(made, who.notAfter)
	answer := response{status: http.StatusCreated, header: http.Header{"X-Subject-Token": {t.id}}}
	answer.body = object{"token": k.cloud.tokenDocument(t, !k.query.Has("nocatalog"))}

	return answer, nil
}

// identify runs the methods of a login.
func (k *call) identify(request *authRequest) (*login, error) {
	who := &login{}
	for _, method := range request.Auth.Identity.Methods {
		var err error
		switch method {
		case "password":
			err = k.byPassword(who, request)
		case "application_credential":
			err = k.byCredential(who, request)
		case "token":
			err = k.byToken(who, request)
		default:
			err = refused()
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(who.methods, method) {
			who.methods = append(who.methods, method)
		}
	}
	if who.user == nil || who.user.disabled {
		return nil, refused()
	}

	return who, nil
}

// findUser returns the user that a request names, nil when there is none.
func (k *call) findUser(request *userRequest) *user {
	state := k.cloud.keystone
	if request.ID != "" {
		return state.users.get(request.ID)
	}
	for _, u := range state.users.all() {
		if u.name == request.Name && k.inDomain(u.domainID, request.Domain) {
			return u
		}
	}

	return nil
}

func (k *call) inDomain(id string, request *domainRequest) bool {
	if request == nil {
		return false
	}
	d := k.cloud.keystone.domains.get(id)

	return d != nil && (d.id == request.ID || (request.ID == "" && d.name == request.Name))
}

func (k *call) byPassword(who *login, request *authRequest) error {
	if request.Auth.Identity.Password == nil {
		return fail(http.StatusBadRequest, "", "'password' is a required property")
	}
	given := &request.Auth.Identity.Password.User
	u := k.findUser(given)
	if u == nil || u.password != given.Password {
		return refused()
	}
	who.user = u

	return nil
}

func (k *call) byCredential(who *login, request *authRequest) error {
	given := request.Auth.Identity.ApplicationCredential
	if given == nil {
		return fail(http.StatusBadRequest, "", "'application_credential' is a required property")
	}
	state := k.cloud.keystone
	credential := state.credentials.get(given.ID)
	if given.ID == "" && given.User != nil {
		u := k.findUser(given.User)
		for _, other := range state.credentials.all() {
			if u != nil && other.userID == u.id && other.name == given.Name {
				credential = other
			}
		}
	}
	if credential == nil || credential.secret != given.Secret || len(state.credentialRoles(credential)) == 0 {
		return refused()
	}
	if !credential.expires.IsZero() && !k.now().Before(credential.expires) {
		return refused()
	}
	who.user, who.credential, who.notAfter = state.users.get(credential.userID), credential, credential.expires

	return nil
}

func (k *call) byToken(who *login, request *authRequest) error {
	if request.Auth.Identity.Token == nil {
		return fail(http.StatusBadRequest, "", "'token' is a required property")
	}
	shown := k.cloud.keystone.valid(request.Auth.Identity.Token.ID, k.now())
	if shown == nil {
		return refused()
	}
	who.user, who.token, who.notAfter = k.cloud.keystone.users.get(shown.userID), shown, shown.expires
	who.methods = append(who.methods, shown.methods...)

	return nil
}
