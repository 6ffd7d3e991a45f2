package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// SecurityGroup is a security group without its rules:
// https://docs.openstack.org/api-ref/network/v2/#security-groups-security-groups.
type SecurityGroup struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	ProjectID   string   `json:"project_id"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// SecurityGroupRule is a rule of a security group. None can be changed:
// https://docs.openstack.org/api-ref/network/v2/#security-group-rules-security-group-rules.
type SecurityGroupRule struct {
	// ID and ProjectID are empty in a new rule.
	ID        string `json:"id,omitempty"`
	ProjectID string `json:"project_id,omitempty"`
	GroupID   string `json:"security_group_id"`
	// Direction is ingress or egress, EtherType is IPv4 or IPv6.
	Direction string `json:"direction"`
	EtherType string `json:"ethertype"`
	// Protocol is empty for any. It may be a number.
	Protocol string `json:"protocol,omitempty"`
	// PortMin and PortMax are nil for any.
	PortMin *int `json:"port_range_min,omitempty"`
	PortMax *int `json:"port_range_max,omitempty"`
	// RemotePrefix is a CIDR. Empty, 0.0.0.0/0 and ::/0 are the same to the service.
	RemotePrefix  string `json:"remote_ip_prefix,omitempty"`
	RemoteGroupID string `json:"remote_group_id,omitempty"`
	// RemoteAddressGroupID is only there with the extension
	// security-groups-remote-address-group.
	RemoteAddressGroupID string `json:"remote_address_group_id,omitempty"`
	Description          string `json:"description,omitempty"`
}

// ListSecurityGroups returns all security groups of the project.
func (s *NetworkService) ListSecurityGroups(ctx context.Context) ([]*SecurityGroup, error) {
	return securityGroups.list(ctx, s, networkQuery[SecurityGroup]{})
}

// SecurityGroupsByName returns the security groups of the project with exactly this name,
// which need not be unique.
func (s *NetworkService) SecurityGroupsByName(ctx context.Context, name string) ([]*SecurityGroup, error) {
	has := func(g *SecurityGroup, name string) bool { return g.Name == name }

	return securityGroups.by(ctx, s, networkQuery[SecurityGroup]{}, "name", []string{name}, has)
}

// CreateSecurityGroup makes a security group, which has rules of its own from the start.
func (s *NetworkService) CreateSecurityGroup(ctx context.Context, name, description string) (*SecurityGroup, error) {
	return securityGroups.create(ctx, s, map[string]string{"name": name, "description": description})
}

// DeleteSecurityGroup deletes a security group with its rules. One that does not exist is no
// error; one that a port has is an ErrConflict.
func (s *NetworkService) DeleteSecurityGroup(ctx context.Context, id string) error {
	return securityGroups.delete(ctx, s, id)
}

// SecurityGroupRules returns the rules of a security group.
func (s *NetworkService) SecurityGroupRules(ctx context.Context, group string) ([]*SecurityGroupRule, error) {
	if err := checkID("security group", group); err != nil {
		return nil, err
	}
	has := func(r *SecurityGroupRule, group string) bool { return r.GroupID == group }

	return securityGroupRules.by(ctx, s, networkQuery[SecurityGroupRule]{anyProject: true}, "security_group_id", []string{group}, has)
}

// CreateSecurityGroupRules makes rules of one group in one call: all or none. A rule that is
// there already is an ErrConflict for all of them; read the rules then. Without rules there
// is no call.
func (s *NetworkService) CreateSecurityGroupRules(ctx context.Context, rules []SecurityGroupRule) ([]*SecurityGroupRule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		if err := checkID("security group", rule.GroupID); err != nil {
			return nil, fmt.Errorf("create security_group_rules: %w", err)
		}
	}
	const key = "security_group_rules"
	var made []*SecurityGroupRule
	w := write{
		method: http.MethodPost, path: []string{"security-group-rules"}, request: map[string][]SecurityGroupRule{key: rules},
		receive: func(d *json.Decoder) error { return readObject(d, fields{key: &made}) },
	}
	err = s.send(ctx, client, w)
	if err == nil && len(made) != len(rules) {
		err = badResponse(s.name, http.MethodPost, fmt.Errorf("response has %d rules, not %d", len(made), len(rules)))
	}
	if err != nil {
		return nil, fmt.Errorf("create security_group_rules: %w", err)
	}

	return made, nil
}

// DeleteSecurityGroupRule deletes a rule. One that does not exist is no error.
func (s *NetworkService) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	return securityGroupRules.delete(ctx, s, id)
}
