package client

import (
	"context"
	"fmt"
	"net/http"
)

// ListMembers returns the members of a pool. If a page fails it returns those before, along
// with the error.
func (s *LoadBalancerService) ListMembers(ctx context.Context, pool string) ([]*Member, error) {
	if err := checkID(keyPool, pool); err != nil {
		return nil, err
	}

	return listLBObjects(ctx, s, lbQuery[Member]{path: "pools/" + pool + "/members", key: "members", limit: pageSize})
}

// UpdateMembers replaces all members of a pool. Those with the same address and port stay,
// and so do their IDs and subnets; their other settings are those of the request, by
// default the ones of a new member: see [Member.Spec]. Even the same members make the load
// balancer pending.
//
// An unclear error must be followed by reading, not by the same call: a large pool may take
// longer than every proxy waits.
func (s *LoadBalancerService) UpdateMembers(ctx context.Context, pool string, members []MemberSpec) error {
	return s.batch(ctx, pool, "", members)
}

// AddMembers adds members to a pool, and leaves the others alone. It needs version 2.11.
func (s *LoadBalancerService) AddMembers(ctx context.Context, pool string, members []MemberSpec) error {
	return s.batch(ctx, pool, "additive_only=true", members)
}

func (s *LoadBalancerService) batch(ctx context.Context, pool, query string, members []MemberSpec) error {
	if err := checkID(keyPool, pool); err != nil {
		return err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	request := map[string][]MemberSpec{"members": append([]MemberSpec{}, members...)} // not null
	w := write{method: http.MethodPut, path: []string{"pools", pool, "members"}, query: query, request: request}
	if err := s.send(ctx, client, w); err != nil {
		return fmt.Errorf("update members: %w", err)
	}

	return nil
}

// CreateMember makes one member. One with its address and port is an ErrConflict.
func (s *LoadBalancerService) CreateMember(ctx context.Context, pool string, member MemberSpec) (*Member, error) {
	if err := checkID(keyPool, pool); err != nil {
		return nil, err
	}

	return createLBObject[Member](ctx, s, keyMember, member, "pools", pool, "members")
}

// DeleteMember begins the deletion of one member. One that does not exist is no error.
func (s *LoadBalancerService) DeleteMember(ctx context.Context, pool, id string) error {
	if err := checkID(keyPool, pool); err != nil {
		return err
	}

	return s.deleteLBObject(ctx, keyMember, "", "pools", pool, "members", id)
}
