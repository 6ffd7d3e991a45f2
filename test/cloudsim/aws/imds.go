package aws

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Paths of the instance metadata service.
const (
	metadataRoot = "/latest/"
	tokenPath    = metadataRoot + "api/token"
	dataPath     = metadataRoot + "meta-data"
	identityPath = metadataRoot + "dynamic/instance-identity/document"
	rolePath     = "iam/security-credentials"
)

const (
	tokenHeader    = "X-Aws-Ec2-Metadata-Token" //nolint:gosec // the name of a header
	tokenTTLHeader = tokenHeader + "-Ttl-Seconds"
	longestTTL     = 21600
	metadataLife   = 6 * time.Hour
)

// metadataService is the state of the instance metadata service. Cloud.mu guards
// it.
type metadataService struct {
	disabled bool
	self     string // the instance of the caller
	role     string // empty without instance profile
	tokens   map[string]time.Time
}

func newMetadataService() metadataService {
	return metadataService{role: "node-role", tokens: make(map[string]time.Time)}
}

// SetMetadata switches the instance metadata service on or off. While it is off
// every call is forbidden. To make it unreachable inject faults in the group
// imds.
func (c *Cloud) SetMetadata(enabled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metadata.disabled = !enabled
}

// SetSelf sets the instance that calls the metadata service; by default the first
// one. With an empty ID there is no metadata about any instance.
func (c *Cloud) SetSelf(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id != "" {
		c.mustInstance(id)
	}
	c.metadata.self = id
}

// SetProfile sets the role whose credentials the metadata service returns;
// none with an empty name.
func (c *Cloud) SetProfile(role string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metadata.role = role
}

// serveMetadata serves the instance metadata service, version 2.
func (c *Cloud) serveMetadata(w http.ResponseWriter, r *http.Request) {
	call := simserver.Call{Op: "imds.GetMetadata", Group: groupIMDS}
	if r.URL.Path == tokenPath {
		call.Op = "imds.GetToken"
	}
	c.requests.Add(Request{Op: call.Op, Path: r.URL.Path, Header: r.Header})
	r = r.WithContext(context.WithValue(r.Context(), apiKey{}, (*api)(nil)))
	c.interceptor.Serve(w, r, call, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, header, err := c.metadataResponse(r)
		if err != nil {
			problem := asAPIError(err)
			http.Error(w, problem.Message, problem.Status)

			return
		}
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(len(response)))
		_, _ = w.Write([]byte(response)) // the client may have disconnected
	}))
}

func status(code int) *apiError { return &apiError{code, "", http.StatusText(code)} }

func (c *Cloud) metadataResponse(r *http.Request) (response string, header map[string]string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operation++
	c.applyDue()
	switch {
	case c.metadata.disabled:
		return "", nil, status(http.StatusForbidden)
	case r.URL.Path == tokenPath:
		return c.newToken(r)
	case r.Method != http.MethodGet:
		return "", nil, status(http.StatusMethodNotAllowed)
	case !c.opts.Clock.Now().Before(c.metadata.tokens[r.Header.Get(tokenHeader)]):
		return "", nil, status(http.StatusUnauthorized)
	}
	i := c.instance(c.metadata.self)
	if i == nil || i.gone() {
		return "", nil, status(http.StatusNotFound)
	}
	if r.URL.Path == identityPath {
		document, err := c.identityDocument(i)

		return document, nil, err
	}
	path, ok := strings.CutPrefix(r.URL.Path, dataPath)
	if !ok {
		return "", nil, status(http.StatusNotFound)
	}
	response, err = c.metadataOf(i, strings.Trim(path, "/"))

	return response, nil, err
}

func (c *Cloud) newToken(r *http.Request) (token string, header map[string]string, err error) {
	ttl, err := strconv.Atoi(r.Header.Get(tokenTTLHeader))
	if r.Method != http.MethodPut || err != nil || ttl < 1 || ttl > longestTTL {
		return "", nil, errors.Join(err, status(http.StatusBadRequest))
	}
	token = c.ids.Hex("metadata token", 40)
	c.metadata.tokens[token] = c.opts.Clock.Now().Add(time.Duration(ttl) * time.Second)

	return token, map[string]string{tokenTTLHeader: strconv.Itoa(ttl)}, nil
}

// metadataOf returns what the instance reads at a path below meta-data.
func (c *Cloud) metadataOf(i *instance, path string) (string, error) {
	if name, ok := strings.CutPrefix(path, rolePath+"/"); ok {
		return c.profileCredentials(name)
	}
	values := c.metadataValues(i)
	if value, ok := values[path]; ok {
		return value, nil
	}
	if path != "" {
		path += "/"
	}
	var names []string
	for key := range values {
		if rest, ok := strings.CutPrefix(key, path); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", status(http.StatusNotFound)
	}
	slices.Sort(names)

	return strings.Join(slices.Compact(names), "\n"), nil
}

func (c *Cloud) metadataValues(i *instance) map[string]string {
	values := map[string]string{
		"ami-id": imageID, "instance-id": i.id, "instance-type": i.kind, "local-hostname": i.privateDNS,
		"placement/availability-zone": i.zone, "placement/availability-zone-id": c.zoneIDOf(i.zone),
		"placement/region": c.opts.Region, "reservation-id": i.reservation,
	}
	values["services/partition"], values["services/domain"] = partition(c.opts.Region)
	if c.metadata.role != "" {
		values[rolePath] = c.metadata.role
	}
	for n, eni := range c.interfacesOf(i) {
		if n == 0 {
			values["mac"], values["local-ipv4"] = eni.mac, eni.addrs[0].String()
			if eni.publicIP.IsValid() {
				values["public-ipv4"], values["public-hostname"] = eni.publicIP.String(), eni.publicDNS
			}
		}
		about := "network/interfaces/macs/" + eni.mac + "/"
		values[about+"device-number"] = strconv.Itoa(int(eni.attachment.device))
		values[about+"interface-id"] = eni.id
		values[about+"local-ipv4s"] = strings.Join(texts(eni.addrs), "\n")
		values[about+"security-group-ids"] = strings.Join(eni.groups, "\n")
		values[about+"subnet-id"] = eni.subnet
		values[about+"vpc-id"] = eni.vpc
		values[about+"vpc-ipv4-cidr-block"] = c.vpc(eni.vpc).cidrs[0].String()
		if len(eni.addrs6) > 0 {
			values[about+"ipv6s"] = strings.Join(texts(eni.addrs6), "\n")
		}
	}

	return values
}

// profileCredentials returns credentials of the instance profile.
func (c *Cloud) profileCredentials(role string) (string, error) {
	if role == "" || role != c.metadata.role {
		return "", status(http.StatusNotFound)
	}
	now := c.opts.Clock.Now()
	id, made := c.issue(c.roleARN(role), c.metadata.self, now.Add(metadataLife))
	document, err := json.Marshal(map[string]string{
		"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": now.UTC().Format(time.RFC3339),
		"AccessKeyId": id, "SecretAccessKey": made.secret, "Token": made.token, "Expiration": made.expires.UTC().Format(time.RFC3339),
	})

	return string(document), err
}

func (c *Cloud) identityDocument(i *instance) (string, error) {
	document, err := json.MarshalIndent(map[string]any{
		"accountId": c.opts.AccountID, "architecture": "x86_64", "availabilityZone": i.zone, "imageId": imageID,
		"instanceId": i.id, "instanceType": i.kind, "pendingTime": i.launched.UTC().Format(time.RFC3339),
		"privateIp": firstText(c.interfacesOf(i)[0].addrs), "region": c.opts.Region, "version": "2017-09-30",
	}, "", "  ")

	return string(document), err
}
