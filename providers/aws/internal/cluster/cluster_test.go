package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
)

type tags = map[string]string

func TestDiscover(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		tags   tags
		want   cluster.ID
		err    string
	}{
		"none":      {reason: "AWS-CLUSTER-4: no tag is no ID and no error", tags: tags{"Name": "node-1"}},
		"no tags":   {reason: "no tag is no ID and no error", tags: nil},
		"owned":     {reason: "the key names the cluster", tags: tags{"kubernetes.io/cluster/demo": "owned"}, want: cluster.ID{Name: "demo"}},
		"any value": {reason: "whatever the value", tags: tags{"kubernetes.io/cluster/demo": ""}, want: cluster.ID{Name: "demo"}},
		"legacy":    {reason: "the legacy tag is then written, too", tags: tags{"KubernetesCluster": "old"}, want: cluster.ID{Name: "old", Legacy: true}},
		"both":      {reason: "agreeing", tags: tags{"KubernetesCluster": "demo", "kubernetes.io/cluster/demo": "shared"}, want: cluster.ID{Name: "demo", Legacy: true}},
		"two": {
			reason: "AWS-CLUSTER-2: two clusters are an error",
			tags:   tags{"kubernetes.io/cluster/b": "owned", "kubernetes.io/cluster/a": "shared"},
			err:    "kubernetes.io/cluster/a, kubernetes.io/cluster/b",
		},
		"contradiction": {
			reason: "a legacy value that is another one is an error",
			tags:   tags{"kubernetes.io/cluster/a": "owned", "KubernetesCluster": "b"},
			err:    "kubernetes.io/cluster/a and KubernetesCluster = b",
		},
		"nameless": {reason: "a prefix alone names no cluster", tags: tags{"kubernetes.io/cluster/": "owned"}},
		"empty":    {reason: "an empty legacy tag names no cluster", tags: tags{"KubernetesCluster": "", "kubernetes.io/cluster/a": "owned"}, want: cluster.ID{Name: "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := cluster.Discover(tc.tags)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClusterTags is the table of AWS-CLUSTER-1: what tags on a resource mean to
// cluster demo.
func TestClusterTags(t *testing.T) {
	t.Parallel()
	demo, none := cluster.ID{Name: "demo"}, cluster.ID{}
	cases := map[string]struct {
		reason                        string
		id                            cluster.ID
		tags                          tags
		member, owns, foreign, tagged bool
	}{
		"owned":        {reason: "deletable", id: demo, tags: tags{"kubernetes.io/cluster/demo": "owned"}, member: true, owns: true, tagged: true},
		"shared":       {reason: "member by the key alone", id: demo, tags: tags{"kubernetes.io/cluster/demo": "shared"}, member: true, tagged: true},
		"no value":     {reason: "any value", id: demo, tags: tags{"kubernetes.io/cluster/demo": ""}, member: true, tagged: true},
		"other case":   {reason: "exactly owned", id: demo, tags: tags{"kubernetes.io/cluster/demo": "Owned"}, member: true, tagged: true},
		"legacy":       {reason: "membership and ownership", id: demo, tags: tags{"KubernetesCluster": "demo"}, member: true, owns: true, tagged: true},
		"legacy other": {reason: "AWS-CLUSTER-7: another cluster's", id: demo, tags: tags{"KubernetesCluster": "other"}, foreign: true, tagged: true},
		"other":        {reason: "AWS-CLUSTER-7: another cluster's", id: demo, tags: tags{"kubernetes.io/cluster/other": "owned"}, foreign: true, tagged: true},
		"longer name":  {reason: "an ID is no prefix", id: demo, tags: tags{"kubernetes.io/cluster/demo2": "owned"}, foreign: true, tagged: true},
		"both":         {reason: "AWS-CLUSTER-7: ours among others is not foreign", id: demo, tags: tags{"kubernetes.io/cluster/other": "shared", "kubernetes.io/cluster/demo": "shared"}, member: true, tagged: true},
		"untagged":     {reason: "without an owner", id: demo, tags: tags{"Name": "x"}},
		"no ID":        {reason: "everything is a member", id: none, tags: tags{"Name": "x"}, member: true, owns: true},
		"no ID, other": {reason: "everything is a member", id: none, tags: tags{"kubernetes.io/cluster/other": "owned"}, member: true, owns: true, tagged: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := []bool{tc.member, tc.owns, tc.foreign, tc.tagged}
			got := []bool{tc.id.Member(tc.tags), tc.id.Owns(tc.tags), tc.id.Foreign(tc.tags), cluster.Tagged(tc.tags)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: Member, Owns, Foreign, Tagged (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		id     cluster.ID
		tag    string
		want   tags
	}{
		"plain":  {reason: "AWS-CLUSTER-5: the tag of the owner", id: cluster.ID{Name: "demo"}, tag: "kubernetes.io/cluster/demo", want: tags{"kubernetes.io/cluster/demo": "owned"}},
		"legacy": {reason: "AWS-CLUSTER-3: the legacy tag beside it", id: cluster.ID{Name: "demo", Legacy: true}, tag: "kubernetes.io/cluster/demo", want: tags{"kubernetes.io/cluster/demo": "owned", "KubernetesCluster": "demo"}},
		"none":   {reason: "without an ID nothing gets a tag", want: tags{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.id.Tag(); got != tc.tag {
				t.Errorf("%s: Tag() = %q, want %q", tc.reason, got, tc.tag)
			}
			if diff := cmp.Diff(tc.want, tc.id.Tags()); diff != "" {
				t.Errorf("%s: Tags() (-want +got):\n%s", tc.reason, diff)
			}
			if !tc.id.Owns(tc.id.Tags()) || tc.id.Foreign(tc.id.Tags()) {
				t.Errorf("%s: what the cluster writes must be its own", tc.reason)
			}
		})
	}
}

// TestMissing covers which tags are added to a resource that exists already.
func TestMissing(t *testing.T) {
	t.Parallel()
	legacy := cluster.ID{Name: "demo", Legacy: true}
	want := legacy.Tags()
	want["team"] = "blue"
	cases := map[string]struct {
		reason     string
		have, want tags
	}{
		"complete":         {reason: "nothing is written twice", have: want, want: tags{}},
		"untagged":         {reason: "everything is added", have: tags{}, want: want},
		"unreadable":       {reason: "nothing is added to tags that could not be read", have: nil},
		"user tag changed": {reason: "a tag of the user follows the Service", have: tags{"kubernetes.io/cluster/demo": "owned", "KubernetesCluster": "demo", "team": "red"}, want: tags{"team": "blue"}},
		"shared": {
			reason: "shared is a decision of the user and is never made owned",
			have:   tags{"kubernetes.io/cluster/demo": "shared", "KubernetesCluster": "demo", "team": "blue"},
			want:   tags{},
		},
		"legacy tag of another cluster": {
			reason: "the ownership that another cluster claims is never overwritten",
			have:   tags{"kubernetes.io/cluster/demo": "owned", "KubernetesCluster": "other", "team": "red"},
			want:   tags{"team": "blue"},
		},
		"only the legacy tag of another cluster": {
			reason: "the tag of this cluster is added, and the other one stays",
			have:   tags{"KubernetesCluster": "other", "team": "blue"},
			want:   tags{"kubernetes.io/cluster/demo": "owned"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, legacy.Missing(want, tc.have)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
